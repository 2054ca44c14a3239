import type { Command } from 'commander';

const USUAL_COLUMNS = 80;
const MOST_COLUMNS = 120;

/** Adds a text after the options in the help of a command, its paragraphs filled to the width of the terminal. */
export function withHelpText(command: Command, text: string): Command {
  return command.addHelpText('after', (context) => {
    // Undefined where there is no terminal, whatever its type says.
    const columns: number | undefined = context.command.configureOutput().getOutHelpWidth?.();
    return fillParagraphs(text, Math.min(columns ?? USUAL_COLUMNS, MOST_COLUMNS));
  });
}

/** Breaks paragraphs at blanks into lines of at most so many columns. Lines that begin with a blank stay as they are. */
export function fillParagraphs(text: string, columns: number): string {
  const lines: string[] = [];
  let last: string | undefined; // the line that words are added to
  for (const source of text.split('\n')) {
    if (source === '' || source.startsWith(' ')) {
      if (last !== undefined) lines.push(last);
      last = undefined;
      lines.push(source);
      continue;
    }
    for (const word of source.split(' ')) {
      const longer: string = last === undefined ? word : `${last} ${word}`;
      if (last === undefined || longer.length <= columns) last = longer;
      else {
        lines.push(last);
        last = word;
      }
    }
  }
  return (last === undefined ? lines : [...lines, last]).join('\n');
}
