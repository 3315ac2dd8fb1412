import { defineScenarioSuite } from './replay/scenario-suite.ts';

defineScenarioSuite('nftables');
