/** What a frame is made of (AMQP 0-9-1, section 4.2.3): type, channel and size, then the payload, then an end. */
export const METHOD = 1;
export const HEADER = 2;
export const BODY = 3;
export const FRAME_END = 0xce;
/** Bytes before the payload. */
export const FRAME_HEAD = 7;
/** Bytes around the payload. */
export const FRAME_EXTRA: number = FRAME_HEAD + 1;
/** The class of everything that has to do with messages. */
export const BASIC = 60;
