// Expressions for the browser: each gives what is wrong on the page.

/** Colours of texts, and of what is behind them, whose contrast is too low: `text ratio`. */
export const PALE = `(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [red, green, blue] = channels(colour).map((one) => one / 255)
      .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (one) => {
    const drawn = one.closest('.label, .box')?.querySelector('rect');
    if (drawn) return getComputedStyle(drawn).fill;
    for (let at = one; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if ((channels(backgroundColor)[3] ?? 1) === 1) return backgroundColor;
    }
  };
  const own = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
  return [...document.querySelectorAll('body *')].filter((one) => own(one) && one.checkVisibility()).flatMap((one) => {
    const { color, fill } = getComputedStyle(one);
    const [first, second] = [one.ownerSVGElement ? fill : color, behind(one)].map(light).sort((a, b) => b - a);
    const ratio = (first + 0.05) / (second + 0.05);
    return ratio < 4.5 ? [one.textContent + ' ' + ratio.toFixed(2)] : [];
  });
})()`;
/** What is wider than the window. */
export const TOO_WIDE = `[...document.querySelectorAll('body *')]
  .filter((one) => one.checkVisibility() && !one.closest('.unseen, .skip, thead'))
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5)
  .map((one) => one.outerHTML.slice(0, 80))`;
