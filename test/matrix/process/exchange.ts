/** The exchange of all topics of the clouds. */
export const EXCHANGE = 'nova';
