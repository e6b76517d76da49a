/** Sandboxes: the entry point `cairn-workflows/sandboxes`. */
export { bubblewrap, type BubblewrapOptions } from './bubblewrap.ts';
export { docker, type DockerOptions } from './docker.ts';
export { e2b, type E2bOptions } from './e2b.ts';
export { sandboxNode, sandboxTools, type SandboxNodeConfig, type SandboxNodeOutput } from './sandbox-node.ts';
export { SandboxSession, type SandboxOptions, type SandboxOutput } from './session.ts';
export type {
  Sandbox,
  SandboxCommand,
  SandboxEnd,
  Sandboxes,
  SandboxLimits,
  SandboxRequest,
} from '../ports/sandboxes.ts';
