package io.fairlock.spring;

import io.fairlock.FairlockClient;
import io.fairlock.JedisBuilder;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import java.io.File;
import java.time.Duration;
import java.util.List;
import net.javacrumbs.shedlock.core.LockProvider;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.util.ClassUtils;

/**
 * Makes a {@link FairlockClient}, and for what the application has on its class path: a
 * LockRegistry of Spring Integration, a LockProvider of ShedLock, and a health indicator. A bean of
 * the application takes the place of each.
 */
@AutoConfiguration
@EnableConfigurationProperties(FairlockAutoConfiguration.Properties.class)
public class FairlockAutoConfiguration {

  /**
   * The settings.
   *
   * @param url the server, any node of a fleet, or Sentinels, as {@link FairlockClient#create}
   *     takes it
   * @param nodes instead of url: nodes of a fleet of several partitions, each like url; the user,
   *     TLS and time-outs are those of the first
   * @param timeout how soon a server is noticed that has gone silently; at most 5 s are used
   * @param caFile for TLS: certificates of the authorities to trust, as PEM; those of Java by
   *     default
   * @param lease after which a lock of the LockRegistry is passed on if this process dies; it is
   *     renewed meanwhile
   * @param prefix begins the keys of the LockRegistry and of ShedLock
   */
  @ConfigurationProperties("fairlock")
  public record Properties(@DefaultValue("redis://localhost:3247") String url, List<String> nodes,
      @DefaultValue("5s") Duration timeout, File caFile, @DefaultValue("30s") Duration lease,
      @DefaultValue("") String prefix) {}

  /**
   * Connects when it is first used; closed with the context. On Lettuce, or on Jedis if the
   * application has excluded Lettuce.
   */
  @Bean
  @ConditionalOnMissingBean
  FairlockClient fairlockClient(Properties properties) {
    return ClassUtils.isPresent("io.lettuce.core.RedisClient", getClass().getClassLoader())
        ? OnLettuce.client(properties) : OnJedis.client(properties);
  }

  private static boolean isFleet(Properties properties) {
    return properties.nodes() != null && !properties.nodes().isEmpty();
  }

  private static final class OnLettuce {

    static FairlockClient client(Properties properties) {
      FairlockClient.Builder builder = FairlockClient.builder();
      if (isFleet(properties)) {
        builder.cluster(properties.nodes().stream().map(it -> uri(it, properties))
            .toArray(RedisURI[]::new));
      } else {
        builder.address(uri(properties.url(), properties));
      }
      if (properties.caFile() != null) {
        builder.options(ClientOptions.builder().sslOptions(
            SslOptions.builder().trustManager(properties.caFile()).build()).build());
      }
      return builder.build();
    }

    private static RedisURI uri(String text, Properties properties) {
      RedisURI uri = RedisURI.create(text);
      uri.setTimeout(properties.timeout());
      return uri;
    }
  }

  private static final class OnJedis {

    static FairlockClient client(Properties properties) {
      JedisBuilder builder = FairlockClient.onJedis().timeout(properties.timeout());
      if (isFleet(properties)) {
        builder.cluster(properties.nodes().toArray(String[]::new));
      } else {
        builder.address(properties.url());
      }
      if (properties.caFile() != null) {
        builder.trust(properties.caFile());
      }
      return builder.build();
    }
  }

  /** If the application has Spring Integration. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(LockRegistry.class)
  static class Integration {

    @Bean
    @ConditionalOnMissingBean(LockRegistry.class)
    FairlockLockRegistry fairlockLockRegistry(FairlockClient client, Properties properties) {
      return new FairlockLockRegistry(client, properties.prefix(), properties.lease());
    }
  }

  /** If the application has ShedLock. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(LockProvider.class)
  static class ShedLock {

    @Bean
    @ConditionalOnMissingBean(LockProvider.class)
    FairlockLockProvider fairlockLockProvider(FairlockClient client, Properties properties) {
      return new FairlockLockProvider(client, properties.prefix());
    }
  }

  /** If the application has the actuator of Spring Boot 3. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(HealthIndicator.class)
  static class Health {

    @Bean
    @ConditionalOnEnabledHealthIndicator("fairlock")
    @ConditionalOnMissingBean(name = "fairlockHealthIndicator")
    HealthIndicator fairlockHealthIndicator(FairlockClient client) {
      return new AbstractHealthIndicator("fairlock cannot be asked") {
        @Override
        protected void doHealthCheck(
            org.springframework.boot.actuate.health.Health.Builder health) throws Exception {
          client.ping().get();
          health.up();
        }
      };
    }
  }
}
