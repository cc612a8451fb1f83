/**
 * Fair locks with fencing tokens from a fairlock server. Start with {@link
 * io.fairlock.FairlockClient}.
 */
package io.fairlock;
