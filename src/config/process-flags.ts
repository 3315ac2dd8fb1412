import { define, into, intoLogStream } from './flag-definition.ts';
import {
  boolFlag,
  durationFlag,
  int32Flag,
  ipPortFlag,
  levelFlag,
  quantityFlag,
  stringFlag,
  vmoduleFlag,
} from './flag-type.ts';
import { zeroQuantity } from './quantity.ts';

const second = 1_000;
const minute = 60_000;

/** Flags about the kernel, the process, its servers and its log (operations 1.2). */
export const processFlags = {
  'conntrack-max-per-core': define(
    int32Flag,
    32768,
    'Kernel and process',
    'Tracked connections per CPU core; 0 leaves the limit as it is, --conntrack-min included.',
    {
      field: 'conntrack.maxPerCore',
      set: into('conntrack', 'maxPerCore'),
    },
  ),
  'conntrack-min': define(
    int32Flag,
    131072,
    'Kernel and process',
    'Lower bound of the limit on tracked connections.',
    {
      field: 'conntrack.min',
      set: into('conntrack', 'min'),
    },
  ),
  'conntrack-tcp-timeout-established': define(
    durationFlag,
    24 * 60 * minute,
    'Kernel and process',
    'Timeout of established TCP connections in conntrack; 0 leaves it as it is.',
    {
      field: 'conntrack.tcpEstablishedTimeout',
      set: into('conntrack', 'tcpEstablishedTimeout'),
    },
  ),
  'conntrack-tcp-timeout-close-wait': define(
    durationFlag,
    60 * minute,
    'Kernel and process',
    'Timeout of TCP connections in state CLOSE_WAIT in conntrack; 0 leaves it as it is.',
    {
      field: 'conntrack.tcpCloseWaitTimeout',
      set: into('conntrack', 'tcpCloseWaitTimeout'),
    },
  ),
  'conntrack-tcp-be-liberal': define(
    boolFlag,
    false,
    'Kernel and process',
    'Set nf_conntrack_tcp_be_liberal to 1, so that packets out of window are not invalid.',
    {
      field: 'conntrack.tcpBeLiberal',
      set: into('conntrack', 'tcpBeLiberal'),
    },
  ),
  'conntrack-udp-timeout': define(
    durationFlag,
    0,
    'Kernel and process',
    'Timeout of UDP flows without reply in conntrack; 0 leaves it as it is.',
    {
      field: 'conntrack.udpTimeout',
      set: into('conntrack', 'udpTimeout'),
    },
  ),
  'conntrack-udp-timeout-stream': define(
    durationFlag,
    0,
    'Kernel and process',
    'Timeout of UDP flows with traffic both ways in conntrack; 0 leaves it as it is.',
    {
      field: 'conntrack.udpStreamTimeout',
      set: into('conntrack', 'udpStreamTimeout'),
    },
  ),
  'oom-score-adj': define(
    int32Flag,
    -999,
    'Kernel and process',
    'oom_score_adj of this process, -1000 to 1000.',
    {
      field: 'oomScoreAdj',
      set: into('oomScoreAdj'),
    },
  ),

  'healthz-bind-address': define(
    ipPortFlag,
    '0.0.0.0:10256',
    'Health and metrics',
    'Address of the health check server.',
    {
      field: 'healthzBindAddress',
      set: into('healthzBindAddress'),
    },
  ),
  'metrics-bind-address': define(
    ipPortFlag,
    '127.0.0.1:10249',
    'Health and metrics',
    'Address of the metrics server. It cannot be switched off.',
    {
      field: 'metricsBindAddress',
      set: into('metricsBindAddress'),
    },
  ),
  'bind-address-hard-fail': define(
    boolFlag,
    false,
    'Health and metrics',
    'Exit when one of the two servers cannot be bound, instead of trying again.',
    {
      field: 'bindAddressHardFail',
      set: into('bindAddressHardFail'),
    },
  ),
  profiling: define(
    boolFlag,
    false,
    'Health and metrics',
    'Serve profiles and log-level control under /debug on the metrics server.',
    {
      field: 'enableProfiling',
      set: into('enableProfiling'),
    },
  ),
  'show-hidden-metrics-for-version': define(
    stringFlag,
    '',
    'Health and metrics',
    'Show metrics hidden since this version: 1.35 or empty.',
    {
      field: 'showHiddenMetricsForVersion',
      set: into('showHiddenMetricsForVersion'),
    },
  ),

  v: define(levelFlag, 0, 'Logging', 'Log lines up to this level are printed.', {
    besideConfig: true,
    shorthand: 'v',
    field: 'logging.verbosity',
    set: into('logging', 'verbosity'),
  }),
  vmodule: define(
    vmoduleFlag,
    [],
    'Logging',
    'Levels for single source files (text format only); their items come before those of the file.',
    {
      besideConfig: true,
      field: 'logging.vmodule',
      set: (config, value) => {
        config.logging.vmodule = [...value, ...config.logging.vmodule];
      },
    },
  ),
  'logging-format': define(stringFlag, 'text', 'Logging', 'text or json.', {
    besideConfig: true,
    field: 'logging.format',
    set: into('logging', 'format'),
  }),
  'log-flush-frequency': define(
    durationFlag,
    5 * second,
    'Logging',
    'Longest time that buffered log lines are held back.',
    {
      besideConfig: true,
      field: 'logging.flushFrequency',
      set: into('logging', 'flushFrequency'),
    },
  ),
  'log-text-split-stream': define(
    boolFlag,
    false,
    'Logging',
    'Text format: errors to stderr, everything else to stdout. Needs the gate LoggingAlphaOptions.',
    {
      besideConfig: true,
      field: 'logging.options.text.splitStream',
      set: intoLogStream('text', 'splitStream'),
    },
  ),
  'log-text-info-buffer-size': define(
    quantityFlag,
    zeroQuantity,
    'Logging',
    'Text format: bytes of stdout buffer with split streams. Needs the gate LoggingAlphaOptions.',
    {
      besideConfig: true,
      field: 'logging.options.text.infoBufferSize',
      set: intoLogStream('text', 'infoBufferSize'),
    },
  ),
  'log-json-split-stream': define(
    boolFlag,
    false,
    'Logging',
    'JSON format: errors to stderr, everything else to stdout. Needs the gate LoggingAlphaOptions.',
    {
      besideConfig: true,
      field: 'logging.options.json.splitStream',
      set: intoLogStream('json', 'splitStream'),
    },
  ),
  'log-json-info-buffer-size': define(
    quantityFlag,
    zeroQuantity,
    'Logging',
    'JSON format: bytes of stdout buffer with split streams. Needs the gate LoggingAlphaOptions.',
    {
      besideConfig: true,
      field: 'logging.options.json.infoBufferSize',
      set: intoLogStream('json', 'infoBufferSize'),
    },
  ),
};
