/** Which addresses are none of the public network: those of this machine, of private networks, and what leads to them. */
import { isIP, type BlockList } from 'node:net';

const ranges4: readonly (readonly [address: string, bits: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
];
/** Some hold an address of the older kind: whoever can send there could be led anywhere. */
const ranges6: readonly (readonly [address: string, bits: number])[] = [
  ['::', 96],
  ['64:ff9b::', 32],
  ['2002::', 16],
  ['2001::', 32],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
];

let privateRanges: BlockList | undefined;

/** Made when it is first asked for: `node:net` takes a while to load, and most processes send no webhook. */
function listPrivateRanges(): BlockList {
  const list = new (process.getBuiltinModule('node:net').BlockList)();
  for (const [address, bits] of ranges4) list.addSubnet(address, bits, 'ipv4');
  for (const [address, bits] of ranges6) list.addSubnet(address, bits, 'ipv6');
  return list;
}

/** Whether an address is private. What is no address counts as one. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '');
  const kind = isIP(plain);
  if (kind === 0) return true;
  privateRanges ??= listPrivateRanges();
  return privateRanges.check(plain, kind === 6 ? 'ipv6' : 'ipv4');
}
