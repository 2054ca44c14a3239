/** What is part of the name of a queue, or the name of a folder: hosts, topics, cells and so on. */
export const PLAIN_NAME: RegExp = /^[\w-][\w.-]{0,199}$/;

/** The same in words. */
export const PLAIN_NAME_TEXT = 'letters, digits and characters of . _ -, at most 200, the first no dot';
