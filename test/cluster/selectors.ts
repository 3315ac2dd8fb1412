import type { KubeObject } from './kube-object.ts';
import { fieldValue, type Resource } from './resources.ts';

export type ObjectMatcher = (object: KubeObject) => boolean;

/** A selector the server cannot read; kube-apiserver answers it with 400. */
export class SelectorError extends Error {}

type LabelTest = (labels: Readonly<Record<string, string>>) => boolean;

const noLabels: Readonly<Record<string, string>> = {};

/**
 * Reads a label selector: requirements joined by commas, each `key`, `!key`, `key=value`, `key==value`, `key!=value`,
 * `key in (a,b)` or `key notin (a,b)`. As in Kubernetes, `!=` and `notin` also match objects without the key.
 * Throws SelectorError.
 */
export function parseLabelSelector(text: string): ObjectMatcher {
  const tests = splitOutsideParentheses(text).map(parseLabelRequirement);
  return (object) => {
    const labels = object.metadata.labels ?? noLabels;
    return tests.every((test) => test(labels));
  };
}

/** Reads a field selector: `path=value`, `path==value` or `path!=value`, joined by commas. Throws SelectorError. */
export function parseFieldSelector(resource: Resource, text: string): ObjectMatcher {
  const tests = text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(part);
      if (match === null) throw new SelectorError(`invalid field selector: ${JSON.stringify(part)}`);
      const [, path = '', operator, value = ''] = match;
      if (!resource.fieldLabels.includes(path)) throw new SelectorError(`field label not supported: ${path}`);
      const negated = operator === '!=';
      return (object: KubeObject) => (fieldValue(object, path) === value) !== negated;
    });
  return (object) => tests.every((test) => test(object));
}

function parseLabelRequirement(text: string): LabelTest {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(text);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return operator === 'in'
      ? (labels) => labels[key] !== undefined && values.has(labels[key])
      : (labels) => labels[key] === undefined || !values.has(labels[key]);
  }
  const equality = /^([^=!\s]+)\s*(==|=|!=)\s*(\S*)$/.exec(text);
  if (equality !== null) {
    const [, key = '', operator, value = ''] = equality;
    return operator === '!=' ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
  }
  const presence = /^(!?)\s*([^=!\s()]+)$/.exec(text);
  if (presence === null) throw new SelectorError(`unable to parse requirement: ${JSON.stringify(text)}`);
  const [, negation, key = ''] = presence;
  return negation === '!' ? (labels) => labels[key] === undefined : (labels) => labels[key] !== undefined;
}

function splitOutsideParentheses(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
