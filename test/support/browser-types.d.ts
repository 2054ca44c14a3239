// The few names of a browser's types that playwright-core speaks of, so that no test sees the globals of browsers.

interface Node {
  readonly textContent: string | null;
}

interface SVGElement extends Node {
  readonly ownerSVGElement: SVGElement | null;
}

interface HTMLElement extends Node {
  readonly innerText: string;
}

interface HTMLElementTagNameMap {
  readonly main: HTMLElement;
}
