// Elements are made here alone. Text of manifests is text: nothing parses it as markup.

export type Child = Node | string | undefined | false;

interface Properties {
  class?: string;
  id?: string;
  title?: string;
  type?: string;
  href?: string;
  label?: string; // aria-label
  role?: string;
  scope?: string;
  disabled?: boolean;
  pressed?: boolean;
  on?: () => void;
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, p: Properties, ...children: Child[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  if (p.class) e.className = p.class;
  if (p.id) e.id = p.id;
  if (p.title) e.title = p.title;
  for (const [name, value] of [['type', p.type], ['href', p.href], ['aria-label', p.label], ['role', p.role], ['scope', p.scope]] as const) {
    if (value !== undefined) e.setAttribute(name, value);
  }
  if (p.pressed !== undefined) e.setAttribute('aria-pressed', String(p.pressed));
  if (p.disabled) e.setAttribute('disabled', '');
  if (p.on) e.addEventListener('click', p.on);
  e.append(...children.filter((c): c is Node | string => c !== undefined && c !== false));
  return e;
}

export function button(text: string, on: () => void, p: Properties = {}): HTMLButtonElement {
  return h('button', { type: 'button', ...p, on }, text);
}

// bar is a horizontal bar with a text beside it. The text has the value: the bar only repeats it.
export function bar(share: number, kind: string): HTMLElement {
  const fill = h('span', { class: 'fill ' + kind });
  fill.style.width = Math.round(Math.max(0, Math.min(1, share)) * 100) + '%';
  const out = h('span', { class: 'bar' }, fill);
  out.setAttribute('aria-hidden', 'true');
  return out;
}

export function table(caption: string, columns: string[], rows: Child[][]): HTMLElement {
  const head = h('tr', {}, ...columns.map((c) => h('th', { scope: 'col' }, c)));
  const body = rows.map((r) => h('tr', {}, ...r.map((c) => h('td', {}, c))));
  const out = h('div', { class: 'scroll', role: 'region', label: caption }, h('table', {}, h('caption', {}, caption), h('thead', {}, head), h('tbody', {}, ...body)));
  out.tabIndex = 0;
  return out;
}

export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}
