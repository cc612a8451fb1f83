/** fairlock in Spring Boot: a client, and locks for Spring Integration and ShedLock. */
package io.fairlock.spring;
