// The picture of the cluster on a canvas: nodes by domain, how full they are, and their pods. What is small is drawn without details, so that
// thousands of nodes can be moved at the speed of the screen.
import { dark, light, type Colours } from './colours';
import { across, label, maximumPods, rings, square, squares, type Dragged, type DrawnNode, type PodSquare } from './paint';
import { follow, type Surface } from './pointer';
import { share } from './quantity';

interface Box { x: number; y: number; node: DrawnNode; shares: number[]; changed: boolean }

interface Panel { x: number; y: number; width: number; height: number; name: string; boxes: Box[] }

// margin is the part of the canvas that is drawn beyond each of its sides.
const margin = 0.25;

// Sizes in the coordinates of the picture.
const width = 168, gap = 10, head = 34, titleHeight = 20;

const resources = ['cpu', 'memory', 'nvidia.com/gpu', 'amd.com/gpu', 'pods'];
const short: Record<string, string> = { cpu: 'CPU', memory: 'Mem', 'nvidia.com/gpu': 'GPU', 'amd.com/gpu': 'GPU', pods: 'Pods' };

function colours(): Colours { return matchMedia('(prefers-color-scheme: dark)').matches ? dark : light; }

export class ClusterView implements Surface {
  private panels: Panel[] = [];
  private boxes: Box[] = [];
  private all = new Map<string, Box>();
  private shown: string[] = []; // resources
  private height = 100;
  private scale = 1;
  private x = 0;
  private y = 0;
  private extent = { width: 1, height: 1 };
  private fitted = 1;
  private pending = false;
  private context: CanvasRenderingContext2D;
  // layer has the picture with a margin around what is shown, so that moving it a little draws nothing anew.
  private layer = document.createElement('canvas');
  private drawn?: { x: number; y: number; scale: number };
  private dragged?: Dragged;
  selected = '';
  frames: number[] = []; // the times of the last frames
  onNode: (name: string) => void = () => {};
  onPod: (pod: PodSquare, node: string) => void = () => {};
  onOut: (node: string) => void = () => {}; // the node was dragged out of the picture

  constructor(private canvas: HTMLCanvasElement) {
    this.context = canvas.getContext('2d', { alpha: false }) as CanvasRenderingContext2D;
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.stale(); this.redraw(); });
    follow(canvas, this);
  }

  // show replaces the nodes. The view stays where it is unless fit says otherwise.
  show(nodes: DrawnNode[], fit: boolean): void {
    this.shown = resources.filter((r) => nodes.some((n) => n.node.allocatable[r] !== undefined));
    const rows = Math.max(1, Math.ceil(Math.min(maximumPods, Math.max(0, ...nodes.map((n) => n.pods.length))) / across));
    this.height = head - 8 + this.shown.length * 12 + rows * (square + 3) + 8;
    this.layout(nodes);
    this.stale();
    if (fit) this.fit();
    this.redraw();
  }

  private layout(nodes: DrawnNode[]): void {
    const domains = new Map<string, DrawnNode[]>();
    for (const n of nodes) {
      const name = n.node.domain ?? '';
      const there = domains.get(name);
      if (there) there.push(n);
      else domains.set(name, [n]);
    }
    this.panels = [];
    this.boxes = [];
    this.all.clear();
    const shape = Math.max(0.6, this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight));
    const columns = Math.max(1, Math.round(Math.sqrt(domains.size * shape * (domains.size > 1 ? 0.8 : 1))));
    // A picture of many nodes is drawn small: the names of domains are between them then.
    const between = nodes.length > 60 ? 6 * Math.sqrt(nodes.length) : 2 * gap;
    let x = 0, y = nodes.length > 60 ? between : 0, tallest = 0, column = 0;
    this.extent = { width: 1, height: 1 };
    for (const [name, list] of domains) {
      const n = list.length;
      const per = Math.max(1, Math.round(Math.sqrt(n * (this.height / width) * shape * (columns > 1 ? 0.8 : 1))));
      const panel: Panel = { x, y, name, boxes: [], width: Math.min(per, n) * (width + gap) + gap, height: Math.ceil(n / per) * (this.height + gap) + head };
      list.forEach((node, i) => {
        const used = node.node.requestedAfter ?? node.node.requested;
        const box = {
          x: x + gap + (i % per) * (width + gap), y: y + head - gap / 2 + Math.floor(i / per) * (this.height + gap), node,
          shares: this.shown.map((r) => share(used[r], node.node.allocatable[r])), changed: node.pods.some((p) => p.state !== 'there'),
        };
        panel.boxes.push(box);
        this.boxes.push(box);
        this.all.set(node.node.name, box);
      });
      this.panels.push(panel);
      tallest = Math.max(tallest, panel.height);
      this.extent = { width: Math.max(this.extent.width, x + panel.width), height: Math.max(this.extent.height, y + panel.height) };
      x += panel.width + (columns > 1 ? between / 2 : 0);
      if (++column === columns) {
        x = 0;
        y += tallest + between;
        tallest = 0;
        column = 0;
      }
    }
  }

  fit(): void {
    const w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    this.fitted = Math.min(1.6, (w - 24) / this.extent.width, (h - 24) / this.extent.height);
    this.scale = this.fitted;
    this.x = (w - this.extent.width * this.scale) / 2;
    this.y = Math.max(12, (h - this.extent.height * this.scale) / 2);
    this.redraw();
  }

  zoom(factor: number, atX = this.canvas.clientWidth / 2, atY = this.canvas.clientHeight / 2): void {
    const to = Math.min(4, Math.max(Math.min(0.02, this.fitted), this.scale * factor));
    this.x = atX - (atX - this.x) * (to / this.scale);
    this.y = atY - (atY - this.y) * (to / this.scale);
    this.scale = to;
    this.redraw();
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.redraw();
  }

  // select marks a node and moves it into view.
  select(name: string): void {
    this.selected = name;
    this.stale();
    const box = this.all.get(name);
    if (box) {
      const left = box.x * this.scale + this.x, top = box.y * this.scale + this.y;
      const w = this.canvas.clientWidth, h = this.canvas.clientHeight;
      if (left < 0 || top < 0 || left + width * this.scale > w || top + this.height * this.scale > h) {
        this.x = w / 2 - (box.x + width / 2) * this.scale;
        this.y = h / 2 - (box.y + this.height / 2) * this.scale;
      }
    }
    this.redraw();
  }

  // middle is where a node is on the canvas.
  middle(name: string): { x: number; y: number } | undefined {
    const box = this.all.get(name);
    return box && { x: (box.x + width / 2) * this.scale + this.x, y: box.y * this.scale + this.y + 8 * this.scale };
  }

  at(x: number, y: number): { node: string; pod?: PodSquare; title: boolean } | undefined {
    const hit = this.hit(x, y);
    return hit && { node: hit.box.node.node.name, pod: hit.pod, title: this.named() && (y - this.y) / this.scale < hit.box.y + titleHeight };
  }

  click(x: number, y: number): void {
    const hit = this.hit(x, y);
    if (hit?.pod) this.onPod(hit.pod, hit.box.node.node.name);
    else if (hit) this.onNode(hit.box.node.node.name);
  }

  // drag has a node follow the pointer. It is out once it is on no domain.
  drag(node: string, x: number, y: number): void {
    const px = (x - this.x) / this.scale, py = (y - this.y) / this.scale;
    const outside = x < 0 || y < 0 || x > this.canvas.clientWidth || y > this.canvas.clientHeight;
    const out = outside || !this.panels.some((p) => px >= p.x && py >= p.y && px < p.x + p.width && py < p.y + p.height);
    this.dragged = { node, x, y, out };
    this.redraw();
  }

  // drop ends a drag.
  drop(cancelled: boolean): void {
    const d = this.dragged;
    this.dragged = undefined;
    this.redraw();
    if (d?.out && !cancelled) this.onOut(d.node);
  }

  key(e: KeyboardEvent): void {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[e.key];
    if (step) this.move(step[0] ?? 0, step[1] ?? 0);
    else if (e.key === 'Enter' && this.selected) this.onNode(this.selected);
    else if (e.key === '+' || e.key === '=') this.zoom(1.25);
    else if (e.key === '-') this.zoom(0.8);
    else if (e.key === '0') this.fit();
    else if (e.key === 'Delete' && this.selected) this.onOut(this.selected);
    else return;
    e.preventDefault();
  }

  // move selects the nearest node in a direction.
  private move(dx: number, dy: number): void {
    const now = this.all.get(this.selected) ?? this.boxes[0];
    if (!now) return;
    let best = now, least = Infinity;
    for (const b of this.selected ? this.boxes : [now]) {
      const ahead = (b.x - now.x) * dx + (b.y - now.y) * dy, aside = Math.abs((b.x - now.x) * dy) + Math.abs((b.y - now.y) * dx);
      if (ahead > 1 && ahead + 3 * aside < least) [best, least] = [b, ahead + 3 * aside];
    }
    this.select(best.node.node.name);
    this.onNode(best.node.node.name);
  }

  private hit(sx: number, sy: number): { box: Box; pod?: PodSquare } | undefined {
    const x = (sx - this.x) / this.scale, y = (sy - this.y) / this.scale;
    const box = this.boxes.find((b) => x >= b.x && x < b.x + width && y >= b.y && y < b.y + this.height);
    if (!box) return undefined;
    const top = box.y + head - 8 + this.shown.length * 12;
    const column = Math.floor((x - box.x - 8) / (square + 3)), row = Math.floor((y - top) / (square + 3));
    const i = row * across + column;
    const pod = row >= 0 && column >= 0 && column < across && i < maximumPods ? box.node.pods[i] : undefined;
    return { box, pod };
  }

  private resize(): void {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const w = Math.round(this.canvas.clientWidth * ratio), h = Math.round(this.canvas.clientHeight * ratio);
    if (w === this.canvas.width && h === this.canvas.height) return;
    this.canvas.width = w;
    this.canvas.height = h;
    this.stale();
    this.fit();
  }

  redraw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame((now) => {
      this.pending = false;
      this.frames.push(now);
      if (this.frames.length > 240) this.frames.shift();
      this.draw();
    });
  }

  // stale has the picture drawn anew, not only moved.
  private stale(): void { this.drawn = undefined; }

  private draw(): void {
    const ratio = this.canvas.width / Math.max(1, this.canvas.clientWidth);
    const marginX = Math.round(this.canvas.width * margin), marginY = Math.round(this.canvas.height * margin);
    let d = this.drawn;
    const dx = d ? (this.x - d.x) * ratio : 0, dy = d ? (this.y - d.y) * ratio : 0;
    if (!d || d.scale !== this.scale || Math.abs(dx) > marginX || Math.abs(dy) > marginY) {
      this.layer.width = this.canvas.width + 2 * marginX;
      this.layer.height = this.canvas.height + 2 * marginY;
      this.paint(ratio, marginX / ratio, marginY / ratio);
      this.drawn = d = { x: this.x, y: this.y, scale: this.scale };
    }
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.drawImage(this.layer, Math.round((this.x - d.x) * ratio) - marginX, Math.round((this.y - d.y) * ratio) - marginY);
    if (!this.dragged) return;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    label(this.context, colours(), this.canvas, this.dragged);
  }

  // paint draws the picture to the layer.
  private paint(ratio: number, marginX: number, marginY: number): void {
    const c = this.layer.getContext('2d', { alpha: false }) as CanvasRenderingContext2D;
    const k = colours();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = k.paper;
    c.fillRect(0, 0, this.layer.width, this.layer.height);
    c.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * (this.x + marginX), ratio * (this.y + marginY));
    const left = -(this.x + marginX) / this.scale, top = -(this.y + marginY) / this.scale;
    const right = left + this.layer.width / ratio / this.scale, bottom = top + this.layer.height / ratio / this.scale;
    const visible: Box[] = [];
    for (const p of this.panels) {
      if (p.x > right || p.y > bottom || p.x + p.width < left || p.y + p.height < top) continue;
      c.fillStyle = k.panel;
      c.strokeStyle = k.line;
      c.lineWidth = 1 / this.scale;
      c.fillRect(p.x, p.y, p.width, p.height);
      c.strokeRect(p.x, p.y, p.width, p.height);
      for (const b of p.boxes) if (b.x < right && b.y < bottom && b.x + width > left && b.y + this.height > top) visible.push(b);
    }
    const detail = width * this.scale;
    if (detail < 46) this.coarse(c, k, visible);
    else this.fine(c, k, visible, detail);
    this.names(c, k);
    const chosen = this.all.get(this.selected);
    if (chosen) {
      c.strokeStyle = k.focus;
      c.lineWidth = 3 / this.scale;
      c.strokeRect(chosen.x - 2, chosen.y - 2, width + 4, this.height + 4);
    }
  }

  // names writes the names of domains at a size that can be read.
  private names(c: CanvasRenderingContext2D, k: Colours): void {
    const size = Math.min(13 / this.scale, Math.max(13, 11 / this.scale));
    c.fillStyle = k.text;
    c.font = '600 ' + size + 'px system-ui, sans-serif';
    c.textBaseline = 'alphabetic';
    for (const p of this.panels) {
      const text = (p.name || 'no domain') + '  ·  ' + p.boxes.length + (p.boxes.length === 1 ? ' node' : ' nodes');
      if (this.scale > 0.3) c.fillText(text, p.x + gap, p.y + 19, p.width - 2 * gap);
      else c.fillText(text, p.x, p.y - 5 / this.scale, p.width);
    }
  }

  // coarse draws a node as two halves: how full its fullest resource is, and whether its pods change.
  private coarse(c: CanvasRenderingContext2D, k: Colours, boxes: Box[]): void {
    const batches = new Map<string, number[]>();
    const add = (colour: string, ...rect: number[]): void => {
      const list = batches.get(colour);
      if (list) list.push(...rect);
      else batches.set(colour, rect);
    };
    for (const b of boxes) {
      const full = Math.max(0, ...b.shares);
      add(k.track, b.x, b.y, width, this.height);
      const tall = this.height * Math.min(1, full);
      add(b.node.mark === 'bad' ? k.gone : full >= 0.995 ? k.full : full >= 0.8 ? k.nearly : k.free, b.x, b.y + this.height - tall, width, tall);
      if (b.changed) add(k.added, b.x, b.y, width, this.height / 5);
    }
    for (const [colour, rects] of batches) {
      c.fillStyle = colour;
      for (let i = 0; i < rects.length; i += 4) c.fillRect(rects[i] as number, rects[i + 1] as number, rects[i + 2] as number, rects[i + 3] as number);
    }
  }

  // named reports whether nodes are large enough for their names.
  private named(): boolean { return width * this.scale >= 90; }

  private fine(c: CanvasRenderingContext2D, k: Colours, boxes: Box[], detail: number): void {
    for (const b of boxes) {
      c.fillStyle = k.box;
      c.fillRect(b.x, b.y, width, this.height);
      const bad = b.node.mark === 'bad', good = b.node.mark === 'good';
      c.strokeStyle = bad ? k.gone : good ? k.added : k.line;
      c.lineWidth = bad || good ? 2 : 1;
      c.setLineDash(bad ? [5, 3] : []);
      c.strokeRect(b.x, b.y, width, this.height);
      c.setLineDash([]);
      this.bars(c, k, b, detail);
    }
    for (const state of ['there', 'added', 'gone'] as const) {
      c.beginPath();
      for (const b of boxes) squares(c, b.node.pods, state, b.x + 8, b.y + head - 8 + this.shown.length * 12);
      c.fillStyle = c.strokeStyle = k[state];
      c.lineWidth = 1.6;
      if (state === 'gone') c.stroke();
      else c.fill();
    }
    c.beginPath();
    for (const b of boxes) rings(c, b.node.pods, b.x + 8, b.y + head - 8 + this.shown.length * 12);
    c.strokeStyle = k.focus;
    c.stroke();
    if (!this.named()) return;
    c.font = '600 11px ui-monospace, Menlo, Consolas, monospace';
    c.fillStyle = k.text;
    for (const b of boxes) {
      const name = b.node.node.name;
      c.fillText(name.length > 23 ? name.slice(0, 12) + '…' + name.slice(-10) : name, b.x + 8, b.y + 15);
    }
  }

  private bars(c: CanvasRenderingContext2D, k: Colours, b: Box, detail: number): void {
    this.shown.forEach((r, i) => {
      const y = b.y + 22 + i * 12, full = b.shares[i] ?? 0;
      c.fillStyle = k.track;
      c.fillRect(b.x + 38, y, width - 78, 7);
      c.fillStyle = full >= 0.995 ? k.full : full >= 0.8 ? k.nearly : k.free;
      c.fillRect(b.x + 38, y, (width - 78) * Math.min(1, full), 7);
      if (detail < 110) return;
      c.fillStyle = k.dim;
      c.font = '10px system-ui, sans-serif';
      c.fillText(short[r] ?? r, b.x + 8, y + 7);
      c.fillText(Math.round(full * 100) + '%', b.x + width - 34, y + 7);
    });
  }
}
