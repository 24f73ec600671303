// Parts of the page that all answers use.
import { byId, h, type Child } from './dom';

// settled counts the questions that are answered and shown, for tests.
export function settled(): void {
  document.body.dataset.settled = String(Number(document.body.dataset.settled ?? 0) + 1);
}

export function show(...children: Child[]): void {
  const answer = byId('answer');
  answer.replaceChildren(...children.filter((c): c is Node | string => c !== undefined && c !== false));
  answer.scrollTop = 0;
}

export function verdict(words: string, exit: number): void {
  const v = byId('verdict');
  v.textContent = words;
  v.className = ['yes', 'no', 'no', 'warn'][exit] ?? '';
}

// announce has screen readers say what only the picture shows.
export function announce(words: string): void { byId('said').textContent = words; }

// options replaces the options of a choice, and keeps what is chosen.
export function options(select: HTMLSelectElement, first: string[], values: string[]): void {
  const chosen = select.value;
  select.replaceChildren(...first.map((words) => new Option(words, '')), ...values.map((v) => new Option(v, v)));
  if (values.includes(chosen)) select.value = chosen;
}

// suggest replaces what a field suggests.
export function suggest(list: HTMLElement, values: string[]): void {
  list.replaceChildren(...values.map((value) => {
    const e = document.createElement('option');
    e.value = value;
    return e;
  }));
}

// copied copies the address, and has a button say so for a while.
export async function copied(b: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href);
    b.textContent = 'Copied';
  } catch {
    b.textContent = 'In the address bar';
  }
  setTimeout(() => { b.textContent = 'Copy link'; }, 2000);
}

export function download(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const a = h('a', { href: url });
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
