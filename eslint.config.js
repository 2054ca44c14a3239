// The rules, and the layering: each package may import only what its row in LAYERS allows.
import { readdirSync } from 'node:fs';
import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import n from 'eslint-plugin-n';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const LAYERS = {
  core: ['eventemitter3'],
  rpc: ['@ebbgate/core', '@standard-schema/spec'],
  notify: ['@ebbgate/core', '@standard-schema/spec', 're2js', 'yaml'],
  'driver-amqp': ['@ebbgate/core', 'amqplib', 'rhea'],
  'driver-redis': ['@ebbgate/core', 'ioredis'],
  'driver-testkit': ['@ebbgate/core', '@ebbgate/rpc'],
  service: ['@ebbgate/core', '@ebbgate/rpc'],
  compute: [
    '@ebbgate/core',
    '@ebbgate/notify',
    '@ebbgate/rpc',
    '@ebbgate/service',
    'better-sqlite3',
    'commander',
    'fastify',
    'kysely',
    'pg',
    'pino',
    'prom-client',
    'zod',
  ],
  cli: ['@ebbgate/core', '@ebbgate/notify', '@ebbgate/rpc', '@ebbgate/service', 'commander'],
};

/** What the programs of a package may import besides, as they put the parts together. */
const PROGRAMS_ALSO = {
  compute: ['@ebbgate/driver-amqp', '@ebbgate/driver-redis'],
  cli: ['@ebbgate/driver-amqp'],
};

/** Files that may touch the process: they are the programs, or start them. */
const PROCESS_FILES = [
  'packages/service/src/launcher.ts',
  'packages/driver-amqp/src/v091/handshake.ts',
  'packages/*/src/main.ts',
  'packages/cli/src/**/*.ts',
  'packages/compute/src/{main,main-*}.ts',
  'packages/compute/src/main/**/*.ts',
];

const ourPackages = readdirSync('packages').map((name) => `@ebbgate/${name}`);
const escaped = (name) => name.replace(/[/.]/g, '\\$&');

function layer([name, allowed], { process }) {
  const nodeModules = process ? 'node:' : 'node:(?!process$)';
  const names = allowed.map((one) => `${escaped(one)}$`).join('|');
  return {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            regex: `^(?!\\.{1,2}/|${nodeModules}|${names})`,
            message: `packages/${name} may import its own files, node: (node:process in programs only) and ${allowed.join(', ')}.`,
          },
          {
            regex: '^\\.{1,2}/(.*/)?index\\.js$',
            message: 'Import the file that has the name, not the index.',
          },
        ],
      },
    ],
  };
}

const layering = Object.entries(LAYERS).flatMap((entry) => {
  const own = `packages/${entry[0]}/src/**/*.ts`;
  const programs = PROCESS_FILES.filter(
    (path) => path.startsWith(`packages/${entry[0]}/`) || path.startsWith('packages/*'),
  );
  return [
    { files: [own], rules: layer(entry, { process: false }) },
    {
      files: programs.map((path) => path.replace('*/src/main', `${entry[0]}/src/main`)),
      rules: layer([entry[0], [...entry[1], ...(PROGRAMS_ALSO[entry[0]] ?? [])]], { process: true }),
    },
  ];
});

export default defineConfig(
  globalIgnores(['**/dist/', 'build/', 'coverage/', '.nx/', 'bench/results/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { n },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'all' }],
      // A function that implements an asynchronous interface is async so that what it throws becomes a rejection.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      eqeqeq: 'error',
      'n/no-extraneous-import': 'error',
      'n/prefer-node-protocol': 'error',
    },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    rules: {
      complexity: ['error', 10],
      'max-lines': ['error', 300],
      'max-lines-per-function': ['error', { max: 60, skipComments: true }],
      'no-console': 'error',
      'no-restricted-globals': [
        'error',
        {
          name: 'process',
          message: 'Only the launcher and the programs touch the process; pass in what you need.',
        },
      ],
    },
  },
  layering,
  { files: PROCESS_FILES, rules: { 'no-console': 'off', 'no-restricted-globals': 'off' } },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts'],
    rules: {
      // Tests import siblings by public name; what the root does not declare stays an error.
      'n/no-extraneous-import': ['error', { allowModules: ourPackages }],
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/unbound-method': 'off',
      // `expect(x).to.be.true` is an expression.
      '@typescript-eslint/no-unused-expressions': 'off',
    },
  },
  {
    files: ['packages/compute/page/*.js'],
    languageOptions: {
      globals: {
        document: 'readonly',
        EventSource: 'readonly',
        fetch: 'readonly',
        getComputedStyle: 'readonly',
        requestAnimationFrame: 'readonly',
        ResizeObserver: 'readonly',
        setTimeout: 'readonly',
      },
    },
  },
  {
    files: ['**/*.js', '**/*.mjs'],
    languageOptions: {
      globals: {
        clearInterval: 'readonly',
        console: 'readonly',
        performance: 'readonly',
        process: 'readonly',
        setInterval: 'readonly',
        URL: 'readonly',
      },
    },
    plugins: { n },
    rules: { eqeqeq: 'error', 'n/no-extraneous-import': 'error', 'n/prefer-node-protocol': 'error' },
  },
  prettier,
);
