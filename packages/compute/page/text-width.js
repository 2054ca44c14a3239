// How wide texts are in the picture, where nothing cuts them off.

const FONTS = new Map([
  ['host', '650 15px'],
  ['instance', '13.5px'],
]);
let pen;

/** The text, or as much of it as there is room for. @param kind - of what it is a name: `host` or `instance` */
export function cut(text, room, kind = 'instance') {
  pen ??= document.createElement('canvas').getContext('2d');
  pen.font = `${FONTS.get(kind)} ${getComputedStyle(document.body).fontFamily}`;
  if (pen.measureText(text).width <= room) return text;
  let letters = [...text].slice(0, 80);
  while (letters.length > 1 && pen.measureText(`${letters.join('')}…`).width > room)
    letters = letters.slice(0, -1);
  return `${letters.join('')}…`;
}
