#include "storage/replicated/node_record.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fairlock::storage::replicated {
namespace {

NodeRecord FullRecord(const std::string& name, const std::string& address) {
  return {.name = name,
          .run = "run of " + name + " at " + address,
          .address = address,
          .tls_port = 3'248,
          .http_port = 4'200,
          .is_https = true,
          .version = "1.0",
          .is_in_sync = true,
          .frames_behind = 7,
          .started_unix_ms = 1'700'000'000'000};
}

TEST(NodeRecord, SurvivesItsEncoding) {
  NodeRecord record = FullRecord("n\"1", "[::1]:3247");
  record.leads = true;
  record.leads_since_unix_ms = 1'700'000'000'001;
  record.sentinel_port = 3'249;
  record.machine = "m1";
  record.partition = 63;
  record.epoch = 12;
  record.options = "cluster_keep_lines=yes restart_grace=30s";
  record.unreached = "n2 n3";
  record.refused_etcd = "e3:2379 e4:2379";
  const auto decoded = DecodeNode("n\"1", EncodeNode(record));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded.value(), record);
}

TEST(NodeRecord, IgnoresWhatItDoesNotKnowAndWrongTypes) {
  const auto decoded =
      DecodeNode("a", R"({"address":"h:1","color":"red","tls_port":70000,"leads":"yes"})");
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->address, "h:1");
  EXPECT_EQ(decoded->tls_port, 0);
  EXPECT_FALSE(decoded->leads);
}

TEST(NodeRecord, RefusesWhatIsNotAnObject) {
  for (const std::string_view text : {"", "canary", "[1]", "{", "7"}) {
    EXPECT_FALSE(DecodeNode("a", text).ok()) << text;
  }
  EXPECT_FALSE(DecodeNode("a", "{\"a\":\"" + std::string(5'000, 'x') + "\"}").ok());
}

}  // namespace
}  // namespace fairlock::storage::replicated
