// Tables. Their roles are written out, since narrow screens show rows as cards, and then a browser would forget what they are.
import { html, Keyed } from './dom.js';

/** A table with these columns, `{ title, className? }`; each row is made by `make`, as of `Keyed`. */
export class Table {
  #rows;

  /** @param label - id of the element that names it */
  constructor(parent, label, columns, make) {
    const heads = columns.map(({ title, className }) =>
      html('th', { scope: 'col', role: 'columnheader', class: className }, title),
    );
    const body = html('tbody', { role: 'rowgroup' });
    const head = html('thead', { role: 'rowgroup' }, html('tr', { role: 'row' }, ...heads));
    parent.append(html('table', { role: 'table', 'aria-labelledby': label }, head, body));
    this.#rows = new Keyed(body, make);
  }

  show(items) {
    this.#rows.show(items);
  }
}

/** A row; its first cell is its head. */
export function row(...cells) {
  return html('tr', { role: 'row' }, ...cells);
}

/** The cell that names a row. */
export function head(...children) {
  return html('th', { scope: 'row', role: 'rowheader' }, ...children);
}

/** @param label - title of its column, which narrow screens show beside it */
export function cell(label, className, ...children) {
  return html('td', { role: 'cell', 'data-label': label, class: className }, ...children);
}
