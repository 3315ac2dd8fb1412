import { defineScenarioSuite } from './replay/scenario-suite.ts';

defineScenarioSuite('iptables-nft');
