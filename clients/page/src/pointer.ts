// The pointer on the picture: it moves the picture, opens nodes and pods, and drags nodes by their names.
export interface Surface {
  // at is the node at a place of the canvas, its pod there, and whether its name is there.
  at(x: number, y: number): { node: string; pod?: { namespace: string; name: string }; title: boolean } | undefined;
  click(x: number, y: number): void;
  pan(dx: number, dy: number): void;
  zoom(factor: number, x: number, y: number): void;
  drag(node: string, x: number, y: number): void;
  drop(cancelled: boolean): void;
  key(e: KeyboardEvent): void;
}

interface Point { x: number; y: number }

// pinch follows one of two fingers: the picture moves and grows as if it was held by both.
function pinch(s: Surface, before: Point, now: Point, other: Point): void {
  const distance = (p: Point): number => Math.max(1, Math.hypot(p.x - other.x, p.y - other.y));
  s.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
  s.zoom(distance(now) / distance(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
}

export function follow(c: HTMLCanvasElement, s: Surface): void {
  const down = new Map<number, Point>(); // by pointer
  let from: { x: number; y: number; node?: string } | undefined, moved = false;
  c.addEventListener('pointerdown', (e) => {
    down.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    if (down.size > 1) {
      if (from?.node) s.drop(true);
      from = undefined;
      return;
    }
    const at = s.at(e.offsetX, e.offsetY);
    from = { x: e.clientX, y: e.clientY, node: at?.title ? at.node : undefined };
    moved = false;
    c.setPointerCapture(e.pointerId);
  });
  c.addEventListener('pointermove', (e) => {
    const before = down.get(e.pointerId), now = { x: e.offsetX, y: e.offsetY };
    if (before) down.set(e.pointerId, now);
    const other = [...down].find(([id]) => id !== e.pointerId)?.[1];
    if (before && other) {
      pinch(s, before, now, other);
      return;
    }
    if (!from) {
      const at = s.at(e.offsetX, e.offsetY);
      c.style.cursor = !at ? 'grab' : at.title ? 'move' : 'pointer';
      c.title = !at ? '' : at.pod ? at.pod.namespace + '/' + at.pod.name : at.title ? at.node + ': drag it out of the domains to remove it' : at.node;
      return;
    }
    if (Math.abs(e.clientX - from.x) + Math.abs(e.clientY - from.y) > 3) moved = true;
    if (!moved) return;
    if (from.node) {
      s.drag(from.node, e.offsetX, e.offsetY);
      return;
    }
    s.pan(e.clientX - from.x, e.clientY - from.y);
    from = { x: e.clientX, y: e.clientY };
  });
  c.addEventListener('pointerup', (e) => {
    down.delete(e.pointerId);
    if (from && moved && from.node) s.drop(false);
    else if (from && !moved) s.click(e.offsetX, e.offsetY);
    from = undefined;
  });
  c.addEventListener('pointercancel', (e) => {
    down.delete(e.pointerId);
    if (from?.node) s.drop(true);
    from = undefined;
  });
  // One finger scrolls a narrow page, as its style has it. Two fingers are of the picture.
  c.addEventListener('touchmove', (e) => { if (e.touches.length > 1) e.preventDefault(); }, { passive: false });
  c.addEventListener('wheel', (e) => {
    e.preventDefault();
    s.zoom(Math.exp(-e.deltaY / 400), e.offsetX, e.offsetY);
  }, { passive: false });
  c.addEventListener('keydown', (e) => {
    if (e.key !== 'Escape' || !from?.node) {
      s.key(e);
      return;
    }
    from = undefined;
    s.drop(true);
  });
}
