// What is chosen beside the manifests: whether pods are placed together, and the topology key of the picture.
import { byId } from './dom';
import type { Case } from './link';
import { options } from './screen';

const joint = byId<HTMLInputElement>('joint');
const key = byId<HTMLSelectElement>('key');

// placing are the parameters of a placement.
export function placing(): Record<string, string[]> { return { ...(joint.checked ? { joint: ['true'] } : {}), ...(key.value ? { 'topology-key': [key.value] } : {}) }; }

export function chosen(): Pick<Case, 'joint' | 'topologyKey'> { return { joint: joint.checked, topologyKey: key.value }; }

// choose has the choices of a link.
export function choose(c: Case): void {
  joint.checked = c.joint;
  key.replaceChildren(...[...new Set(['', c.topologyKey])].map((k) => new Option(k || 'default', k)));
  key.value = c.topologyKey;
}

// offer lists the domains of the picture, and the keys that nodes have.
export function offer(domains: string[], keys: string[]): void {
  options(byId('domains'), [], domains);
  options(key, ['default'], keys);
  for (const id of ['fail', 'domain']) byId<HTMLButtonElement>(id).disabled = domains.length === 0;
}
