import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AttributeError } from '../netlink/attribute-error.ts';
import { readMessages } from '../netlink/message.ts';
import { decodeElements } from './element-decoder.ts';
import { decodeChain, decodeRule, decodeTable } from './object-codec.ts';
import { PackedElements } from './packed-elements.ts';
import { decodeRulesetEvent } from './ruleset-event.ts';
import { decodeSet } from './set-codec.ts';
import { recognizeStatements } from './statement/statement.ts';
import { sampleRuleset } from './testing/sample-ruleset.ts';

test('damaged messages are an error of their own kind or read as something else, never a crash', () => {
  const { bytes } = sampleRuleset('ip').encode();
  const damage = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 })), {
    minLength: 1,
    maxLength: 40,
  });
  let errors = 0;
  fc.assert(
    fc.property(damage, (changes) => {
      const copy = Buffer.from(bytes);
      for (const [at, value] of changes) copy[at] = value;
      try {
        for (const message of readMessages(copy)) {
          decodeRulesetEvent(message);
          const reader = message.attributes('message');
          const command = message.type & 0xff;
          if (command === 0) decodeTable(reader);
          else if (command === 3) decodeChain(reader);
          else if (command === 6) recognizeStatements('ip', decodeRule(reader).exprs, () => undefined);
          else if (command === 9) decodeSet(reader);
          else if (command === 12) decodeElements(reader, new PackedElements(4, 0));
        }
      } catch (error) {
        expect(error).toBeInstanceOf(AttributeError);
        errors++;
      }
    }),
    { numRuns: 300 },
  );
  expect(errors).toBeGreaterThan(0);
});
