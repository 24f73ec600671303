// Quantities of Kubernetes, as numbers for bars. Texts are always the command's.

const factors: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

export function quantity(text: string | undefined): number {
  const m = /^([+-]?[0-9.]+(?:e[+-]?[0-9]+)?)([A-Za-z]*)$/.exec(text ?? '');
  return m ? Number(m[1]) * (factors[m[2] ?? ''] ?? 1) : 0;
}

// share is how full a node is, from 0 on.
export function share(requested: string | undefined, allocatable: string | undefined): number {
  const all = quantity(allocatable);
  return all > 0 ? quantity(requested) / all : 0;
}
