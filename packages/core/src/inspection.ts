import { inspect } from 'node:util';

/**
 * Decides what `util.inspect` and `console.log` show of a class's instances. Done by definition, as declarations
 * cannot carry a method whose name is a symbol of another module.
 */
export function showAs<Instance>(
  type: { readonly prototype: Instance },
  show: (instance: Instance) => unknown,
): void {
  Object.defineProperty(type.prototype, inspect.custom, {
    value(this: Instance): unknown {
      return show(this);
    },
    configurable: true,
    writable: true,
  });
}
