import { DERIVED_DIRECTORY } from './replay/scenario.ts';
import { defineScenarioSuite } from './replay/scenario-suite.ts';

defineScenarioSuite('nftables', { directory: DERIVED_DIRECTORY });
defineScenarioSuite('iptables-nft', { directory: DERIVED_DIRECTORY });
