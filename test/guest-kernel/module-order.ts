/**
 * The modules that `wanted` needs and itself, each after what it needs, as paths of `modulesDep` (the file modules.dep
 * that depmod writes). What is in `builtin` (the file modules.builtin) needs no loading.
 * Throws when a name is in neither file.
 */
export function moduleOrder(wanted: readonly string[], modulesDep: string, builtin: string): string[] {
  const needs = new Map<string, readonly string[]>();
  const paths = new Map<string, string>();
  for (const line of modulesDep.split('\n').filter(Boolean)) {
    const [path = '', rest = ''] = line.split(':');
    paths.set(moduleName(path), path);
    needs.set(path, rest.split(' ').filter(Boolean));
  }
  const present = new Set(builtin.split('\n').map(moduleName));
  const order = new Set<string>();
  const visit = (path: string): void => {
    for (const needed of needs.get(path) ?? []) if (!order.has(needed)) visit(needed);
    order.add(path);
  };
  for (const name of wanted) {
    const path = paths.get(name);
    if (path !== undefined) visit(path);
    else if (!present.has(name)) throw new Error(`the kernel has no module ${name}`);
  }
  return [...order];
}

/** The kernel takes `-` and `_` in names of modules for the same. */
function moduleName(path: string): string {
  return path.replace(/^.*\//, '').replace(/\.ko$/, '').replaceAll('-', '_');
}
