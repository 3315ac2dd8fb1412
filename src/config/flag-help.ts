import { flagGroups } from './flag-definition.ts';
import { type FlagName, flagDefinition, flagNames } from './flags.ts';

const width = 100;
const indent = '      ';

/**
 * The text of `--help`: all flags by topic, with defaults, and what counts beside a configuration file; before them our own
 * commands, by their word.
 */
export function helpText(
  program: string,
  commands: Readonly<Record<string, { readonly summary: string }>> = {},
): string {
  const words = Object.keys(commands);
  const intro = [
    `Usage: ${program} [flags]`,
    ...(words.length === 0 ? [] : [`       ${program} COMMAND [arguments]`]),
    '',
    ...wrap(
      'Makes the Services of a Kubernetes cluster reachable from this node: watches Services and EndpointSlices and ' +
        'programs the kernel to send their traffic to the endpoints. Takes the flags and the configuration file of ' +
        'kube-proxy 1.36.',
      '',
    ),
    '',
    ...wrap(
      'With --config the settings come from that file, and of the flags only those marked with * count; they win over ' +
        'the file.',
      '',
    ),
  ];
  const sections = flagGroups.flatMap((group) => {
    const names = flagNames.filter((name) => flagDefinition(name).group === group);
    return ['', `${group}:`, ...names.flatMap(entry)];
  });
  const list = words.flatMap((word) => [
    `      ${word}`,
    ...wrap(commands[word]?.summary ?? '', '          '),
  ]);
  const own = words.length === 0 ? [] : ['', 'Commands of Fairlead (kube-proxy has none):', ...list];
  return `${[...intro, ...own, ...sections].join('\n')}\n`;
}

/** What stands before the message of a wrong command line. */
export function usageText(program: string): string {
  return `Usage: ${program} [flags]\nAll flags: ${program} --help\n`;
}

function entry(name: FlagName): string[] {
  const { type, help, besideConfig, field, deprecated, shorthand, default: byDefault } = flagDefinition(name);
  const short = shorthand === undefined ? '    ' : `-${shorthand}, `;
  const label = type.label === '' || type.label.startsWith('version') ? '' : ` ${type.label}`;
  const shown = type.format(byDefault);
  const silent = shown === '' || shown === 'false' || shown === '[]' || shown === '0s' || shown === '0';
  const notes = [
    ...(silent ? [] : [`Default: ${shown}.`]),
    ...(deprecated === undefined ? [] : [`Deprecated: ${deprecated}.`]),
    ...(field === undefined ? [] : [`In the file: ${field}.`]),
  ];
  return [
    `${besideConfig ? '*' : ' '} ${short}--${name}${label}`,
    ...wrap([help, ...notes].join(' '), indent),
  ];
}

function wrap(text: string, prefix: string): string[] {
  const lines: string[] = [];
  let line = prefix;
  for (const word of text.split(' ')) {
    if (line.length + word.length + 1 > width && line !== prefix) {
      lines.push(line);
      line = prefix;
    }
    line += line === prefix ? word : ` ${word}`;
  }
  return [...lines, line];
}
