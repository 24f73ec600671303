// The manifests of the page: the files, the text that is edited, what was there before, and the profile of the scheduler.
import { byId } from './dom';
import type { ManifestFile } from './engine';
import { json, textAt, Trial } from './objects';

// maximumShown bounds the text of a file that can be edited.
const maximumShown = 2 << 20;

// maximumProfile bounds the text of a profile.
const maximumProfile = 1 << 20;

// isProfile reports whether a file configures kube-scheduler, and is no manifest. A ConfigMap may have such a text, indented.
export function isProfile(f: ManifestFile): boolean {
  if (f.text.length > maximumProfile) return false;
  const value = json(f.text);
  return value === undefined ? /^kind:\s*["']?KubeSchedulerConfiguration\b/m.test(f.text) : textAt(value, 'kind') === 'KubeSchedulerConfiguration';
}

// newProfile is a profile that fills nodes one after another.
const newProfile = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources:
        - {name: cpu, weight: 1}
        - {name: memory, weight: 1}
`;

export class Manifests {
  files: ManifestFile[] = [];
  private current = 0;
  private history: { files: ManifestFile[]; edit: boolean }[] = [];
  private text = byId<HTMLTextAreaElement>('text');
  private profileSelect = byId<HTMLSelectElement>('profile');
  private otherSelect = byId<HTMLSelectElement>('other');

  // objects are the files that are no profiles.
  objects(): ManifestFile[] { return this.files.filter((f) => !isProfile(f)); }

  private named(name: string): ManifestFile | undefined { return this.files.find((f) => f.name === name && isProfile(f)); }

  // profile is the profile that decides, undefined for kube-scheduler's default profile.
  profile(): ManifestFile | undefined { return this.named(this.profileSelect.value); }

  // other is the profile to compare with.
  other(): ManifestFile | undefined { return this.named(this.otherSelect.value); }

  // trial is an editor of the files that changes nothing. It reads them once, which takes a second for a large cluster.
  trial(): Trial {
    if (this.tried?.of !== this.files) this.tried = { of: this.files, trial: new Trial(this.files) };
    return this.tried.trial;
  }
  private tried?: { of: ManifestFile[]; trial: Trial };

  set(to: ManifestFile[], select: number): void {
    this.files = to;
    this.current = Math.min(select, Math.max(0, to.length - 1));
    byId('files').replaceChildren(...to.map((f, i) => new Option(f.name, String(i), false, i === this.current)));
    const shown = to[this.current]?.text ?? '';
    this.text.readOnly = shown.length > maximumShown;
    this.text.value = this.text.readOnly ? shown.slice(0, 100_000) + '\n… the file is too large to edit here' : shown;
    this.listProfiles();
  }

  // listProfiles lists the profiles. Until there is one to compare with, the choice is a new one.
  private listProfiles(): void {
    const names = [...new Set(this.files.filter(isProfile).map((f) => f.name))];
    const list = (select: HTMLSelectElement, more: string): void => {
      const before = select.value;
      select.replaceChildren(new Option('default', ''), ...names.map((n) => new Option(n, n)), ...(more ? [new Option(more, 'new')] : []));
      select.value = names.includes(before) ? before : '';
    };
    list(this.profileSelect, '');
    list(this.otherSelect, names.length === 0 ? 'new profile' : '');
    if (this.otherSelect.value === this.profileSelect.value) this.otherSelect.value = this.profileSelect.value ? '' : names[0] ?? 'new';
  }

  use(profile: string): void {
    this.profileSelect.value = profile;
    this.listProfiles();
  }

  // addProfile adds a profile, unless there is one to compare with, and reports whether it did.
  addProfile(): boolean {
    if (this.otherSelect.value !== 'new') return false;
    this.remember(true);
    this.set([...this.files, { name: 'profile.yaml', text: newProfile }], this.files.length);
    return true;
  }

  // remember keeps the files for undo: before an edit of them, or before others.
  private remember(edit: boolean): void {
    this.history.push({ files: this.files, edit });
    if (this.history.length > 50) this.history.shift();
  }

  // undo brings the files back, and returns what it undid.
  undo(): { edit: boolean } | undefined {
    const before = this.history.pop();
    if (before) this.set(before.files, this.current);
    return before;
  }

  // keep takes over what was typed.
  keep(): void {
    if (this.text.readOnly || this.files[this.current]?.text === this.text.value || (this.files.length === 0 && this.text.value.trim() === '')) return;
    this.remember(true);
    if (this.files.length === 0) this.set([{ name: 'pasted.yaml', text: this.text.value }], 0);
    else {
      this.files = this.files.map((f, i) => (i === this.current ? { name: f.name, text: this.text.value } : f));
      this.listProfiles();
    }
  }

  replace(to: ManifestFile[]): void {
    this.keep();
    this.remember(false);
    this.set(to, 0);
  }

  // edited takes over files that were changed. A file that was added is shown.
  edited(to: ManifestFile[]): void {
    this.remember(true);
    this.set(to, to.length > this.files.length ? to.length - 1 : this.current);
  }

  show(file: number): void {
    this.keep();
    this.set(this.files, file);
  }

  add(): void {
    this.keep();
    this.remember(true);
    this.set([...this.files, { name: 'file-' + (this.files.length + 1) + '.yaml', text: '' }], this.files.length);
    this.text.focus();
  }

  // remove removes the file that is shown.
  remove(): void {
    this.remember(true);
    this.set(this.files.filter((_, i) => i !== this.current), Math.max(0, this.current - 1));
  }
}
