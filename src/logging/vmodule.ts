/** A level for the source files that match a pattern. */
export interface VModuleItem {
  readonly filePattern: string;
  readonly verbosity: number;
}

/**
 * Compiles `--vmodule` items into a function from file name to level; the first match counts, `undefined` is no match.
 * Patterns match the name without directory and ending, with `*`, `?` and `[...]` as in Go's filepath.Match. An ending
 * `.go` or `.ts` of the pattern is taken off, so that old patterns do not go without effect for that alone.
 */
export function compileVmodule(items: readonly VModuleItem[]): (file: string) => number | undefined {
  if (items.length === 0) return () => undefined;
  const rules = items.map(({ filePattern, verbosity }) => ({ pattern: toRegExp(filePattern), verbosity }));
  const known = new Map<string, number | undefined>();
  return (file) => {
    if (!known.has(file)) {
      const name = file.replace(/\.[cm]?[jt]s$/, '');
      known.set(file, rules.find((rule) => rule.pattern.test(name))?.verbosity);
    }
    return known.get(file);
  };
}

function toRegExp(pattern: string): RegExp {
  const name = pattern.replace(/\.(go|[cm]?[jt]s)$/, '');
  let source = '';
  for (let index = 0; index < name.length; index++) {
    const character = name.charAt(index);
    const end = character === '[' ? name.indexOf(']', index + 2) : -1;
    if (character === '*') source += '.*';
    else if (character === '?') source += '.';
    else if (end > 0) {
      const negated = name.charAt(index + 1) === '^' ? '^' : '';
      const characters = name.slice(index + 1 + negated.length, end).replace(/[\\\]^]/g, '\\$&');
      source += `[${negated}${characters}]`;
      index = end;
    } else source += character.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
  }
  try {
    return new RegExp(`^${source}$`);
  } catch {
    // A broken character class matches nothing.
    return /^(?!)$/;
  }
}
