/** The body of `/version` for a release such as `v1.36.2`. */
export function versionText(gitVersion: string): string {
  const [, major = '1', minor = '36'] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  const version = {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion,
    gitCommit: '$Format:%H$',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'go1.26.10',
    compiler: 'gc',
    platform: 'linux/amd64',
  };
  return JSON.stringify(version, undefined, 2);
}
