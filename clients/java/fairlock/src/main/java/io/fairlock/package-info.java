/**
 * Fair locks with fencing tokens from a fairlock server; {@link io.fairlock.FairlockClient} begins.
 */
package io.fairlock;
