// Parts of the picture: the squares of pods, and what follows the pointer.
import type { ClusterNode } from './answers';
import type { Colours } from './colours';

export type PodState = 'there' | 'added' | 'gone';

// PodSquare is changed if the last edit placed the pod there or removed it from there.
export interface PodSquare { name: string; namespace: string; kind: string; state: PodState; changed?: boolean }

export interface DrawnNode { node: ClusterNode; pods: PodSquare[]; mark?: 'bad' | 'good' }

export interface Dragged { node: string; x: number; y: number; out: boolean }

// Sizes in the coordinates of the picture.
export const square = 8, across = 14, maximumPods = 140;

// squares adds the squares of a state to the path: full for pods that stay, with a corner for pods that come, a cross for pods that go.
export function squares(c: CanvasRenderingContext2D, pods: PodSquare[], state: PodState, left: number, top: number): void {
  pods.slice(0, maximumPods).forEach((pod, i) => {
    if (pod.state !== state) return;
    const x = left + (i % across) * (square + 3), y = top + Math.floor(i / across) * (square + 3);
    if (state === 'there') c.rect(x, y, square, square);
    else if (state === 'added') {
      c.moveTo(x + square / 2, y - 1);
      c.lineTo(x + square + 1, y + square / 2);
      c.lineTo(x + square / 2, y + square + 1);
      c.lineTo(x - 1, y + square / 2);
      c.closePath();
    } else {
      c.moveTo(x, y);
      c.lineTo(x + square, y + square);
      c.moveTo(x + square, y);
      c.lineTo(x, y + square);
    }
  });
}

// rings adds rings around the squares that are changed to the path.
export function rings(c: CanvasRenderingContext2D, pods: PodSquare[], left: number, top: number): void {
  pods.slice(0, maximumPods).forEach((pod, i) => {
    if (!pod.changed) return;
    const x = left + (i % across) * (square + 3) + square / 2, y = top + Math.floor(i / across) * (square + 3) + square / 2;
    c.moveTo(x + square, y);
    c.arc(x, y, square, 0, 2 * Math.PI);
  });
}

// label is drawn at the pointer: the node that follows it, and what happens to the node. Beyond the canvas it stays at the edge.
export function label(c: CanvasRenderingContext2D, k: Colours, canvas: HTMLCanvasElement, d: Dragged): void {
  const text = d.node + (d.out ? ': release to remove it' : ': drag it out of the domains to remove it');
  c.font = '600 12px system-ui, sans-serif';
  c.textBaseline = 'middle';
  const w = c.measureText(text).width + 20;
  const x = Math.max(4, Math.min(canvas.clientWidth - w - 4, d.x - 10)), y = Math.max(4, Math.min(canvas.clientHeight - 34, d.y - 14));
  c.fillStyle = k.box;
  c.fillRect(x, y, w, 30);
  c.strokeStyle = d.out ? k.gone : k.focus;
  c.lineWidth = 2;
  c.setLineDash(d.out ? [5, 3] : []);
  c.strokeRect(x, y, w, 30);
  c.setLineDash([]);
  c.fillStyle = k.text;
  c.fillText(text, x + 10, y + 15);
}
