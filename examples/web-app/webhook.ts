/** Checks who sent a webhook, by a signature in the form of Stripe's: `t=SECONDS,v1=HEX`. */
import { createHmac, timingSafeEqual } from 'node:crypto';

const toleranceS = 300;

/** Whether the body was signed with this secret, not longer than five minutes ago. @param body - as it came, before it is parsed */
export function isSigned(body: string, header: string, secret: string, nowS: number = Date.now() / 1000): boolean {
  const parts = header.split(',').map((part) => part.split('=', 2) as [string, string?]);
  const at = Number(parts.find(([name]) => name === 't')?.[1]);
  if (!(Math.abs(nowS - at) <= toleranceS)) return false;
  const expected = createHmac('sha256', secret).update(`${at}.${body}`).digest();
  return parts.some(([name, hex = '']) => {
    const signature = Buffer.from(hex, 'hex');
    return name === 'v1' && signature.length === expected.length && timingSafeEqual(signature, expected);
  });
}
