import { channel, type Channel } from 'node:diagnostics_channel'

/** A diagnostics channel whose messages have a type. Without subscribers it costs nothing. */
export interface TypedChannel<Message> extends Channel {
  publish (message: Message): void
  subscribe (listener: (message: Message, name: string | symbol) => void): void
  unsubscribe (listener: (message: Message, name: string | symbol) => void): boolean
}

/** @returns the channel `plant-store:<name>` */
export function typedChannel<Message> (name: string): TypedChannel<Message> {
  return channel(`plant-store:${name}`) as TypedChannel<Message>
}
