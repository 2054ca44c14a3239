import type { Delivery, Driver, Listener, ListenOptions, Source } from './driver.js';
import { ConfigurationError } from './errors.js';

/** Listens to whatever the source is. Rejects for notifications with a driver that has none. */
export async function listenWith(
  driver: Driver,
  source: Source,
  options: ListenOptions,
  onDelivery: (delivery: Delivery) => void,
): Promise<Listener> {
  if (!('topics' in source)) return driver.listen(source, options, onDelivery);
  if (driver.features.notifications && driver.listenForNotifications)
    return driver.listenForNotifications(source, options, onDelivery);
  throw new ConfigurationError('The driver of this transport has no notifications');
}
