// Requests and clients for the etcd tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "storage/etcd/etcd_client.h"

namespace fairlock::storage::etcd {

constexpr std::chrono::milliseconds kTimeout{5'000};

inline Txn PutOf(std::string key, std::string value, std::int64_t lease = 0) {
  return {.then = {Put{.key = std::move(key), .value = std::move(value), .lease = lease}}};
}

// Sets the key if it has this revision; otherwise, the transaction returns the key's present state.
inline Txn GuardedPut(const std::string& key, std::int64_t revision, std::string value) {
  return {.compares = {{.key = key, .revision = revision}},
          .then = {Put{.key = key, .value = std::move(value)}},
          .otherwise = {Get{.key = key}}};
}

inline std::unique_ptr<EtcdClient> ClientOf(const EtcdOptions& options) {
  auto client = EtcdClient::Open(options);
  EXPECT_TRUE(client.ok()) << client.status().message();
  return std::move(client.value());
}

// Writes the key; returns the revision of the write.
inline std::int64_t Set(EtcdClient& client, const std::string& key, const std::string& value) {
  const TxnAnswer answer = client.Transact(PutOf(key, value), kTimeout);
  EXPECT_EQ(answer.outcome, Outcome::kDone) << answer.message;
  return answer.revision;
}

}  // namespace fairlock::storage::etcd
