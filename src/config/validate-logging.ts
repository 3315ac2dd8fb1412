import type { FeatureGates } from './feature-gates.ts';
import type { FieldError } from './field-error.ts';
import { formatGoDuration } from './go-duration.ts';
import type { LoggingConfiguration } from './proxy-configuration.ts';

const largestVerbosity = 2 ** 31 - 1;

/**
 * Checks the logging section (operations 2.4, below the table). `root` is put before the paths: '' when logging is set up,
 * `KubeProxyConfiguration.` when the whole configuration is validated.
 */
export function validateLogging(logging: LoggingConfiguration, gates: FeatureGates, root = ''): FieldError[] {
  const errors: FieldError[] = [];
  const add = (path: string, kind: FieldError['kind'], value: unknown, message: string) => {
    errors.push({ field: `${root}logging.${path}`, kind, value, message, source: `logging.${path}` });
  };
  const checkVerbosity = (path: string, value: number) => {
    if (value > largestVerbosity) add(path, 'Invalid value', value, `must not exceed ${largestVerbosity}`);
  };

  if (logging.flushFrequency <= 0) {
    add(
      'flushFrequency',
      'Invalid value',
      formatGoDuration(logging.flushFrequency),
      'must be greater than 0',
    );
  }
  if (logging.format !== 'text' && logging.format !== 'json') {
    add('format', 'Invalid value', logging.format, 'unknown log format, must be text or json');
  } else if (logging.format === 'json' && !gates.enabled('LoggingBetaOptions')) {
    add('format', 'Forbidden', logging.format, 'the json format needs the feature gate LoggingBetaOptions');
  }
  checkVerbosity('verbosity', logging.verbosity);

  if (logging.vmodule.length > 0 && logging.format !== '' && logging.format !== 'text') {
    add('vmodule', 'Forbidden', logging.vmodule, 'works with the text format only');
  }
  for (const [index, item] of logging.vmodule.entries()) {
    const path = `vmodule[${index}]`;
    if (item.filePattern === '') add(path, 'Required value', '', 'the file pattern is empty');
    else if (/[=,]/.test(item.filePattern)) {
      add(
        path,
        'Invalid value',
        item.filePattern,
        'the file pattern must not contain an equals sign or a comma',
      );
    }
    checkVerbosity(path, item.verbosity);
  }
  if (!gates.enabled('LoggingAlphaOptions')) {
    for (const format of ['text', 'json'] as const) {
      const { splitStream, infoBufferSize } = logging.options[format];
      const message = 'needs the feature gate LoggingAlphaOptions';
      if (splitStream) add(`options.${format}.splitStream`, 'Forbidden', true, message);
      if (infoBufferSize.value !== 0) {
        add(`options.${format}.infoBufferSize`, 'Forbidden', infoBufferSize.text, message);
      }
    }
  }
  return errors;
}
