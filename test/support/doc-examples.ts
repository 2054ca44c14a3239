import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A block of code in a document, and what it prints if the next block says so. */
export interface DocExample {
  /** Named by a comment `<!-- file: NAME -->` above the block. */
  readonly file: string | undefined;
  readonly code: string;
  /** The block of language `text` that follows. */
  readonly output: string | undefined;
}

const BLOCK = /(?:<!-- file: (\S+) -->\n+)?```(\w+)\n([\s\S]*?)```/g;

/** The TypeScript blocks of a Markdown document, in order. */
export function docExamples(path: string): DocExample[] {
  const blocks = [...readFileSync(path, 'utf8').matchAll(BLOCK)].map(([, file, language, code]) => ({
    file,
    language,
    code,
  }));
  return blocks.flatMap(({ file, language, code = '' }, index) => {
    const next = blocks[index + 1];
    return language === 'ts'
      ? [{ file, code, output: next?.language === 'text' ? next.code : undefined }]
      : [];
  });
}

/** The compiler options of somebody who uses the packages: strict, and nothing that eases our own build. */
export function writeUserConfig(folder: string, typeRoot: string): void {
  const compilerOptions = {
    strict: true,
    module: 'nodenext',
    target: 'es2023',
    types: ['node'],
    typeRoots: [typeRoot],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
}
