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

export function follow(c: HTMLCanvasElement, s: Surface): void {
  let from: { x: number; y: number; node?: string } | undefined, moved = false;
  c.addEventListener('pointerdown', (e) => {
    const at = s.at(e.offsetX, e.offsetY);
    from = { x: e.clientX, y: e.clientY, node: at?.title ? at.node : undefined };
    moved = false;
    c.setPointerCapture(e.pointerId);
  });
  c.addEventListener('pointermove', (e) => {
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
    if (from && moved && from.node) s.drop(false);
    else if (from && !moved) s.click(e.offsetX, e.offsetY);
    from = undefined;
  });
  c.addEventListener('pointercancel', () => {
    if (from?.node) s.drop(true);
    from = undefined;
  });
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
