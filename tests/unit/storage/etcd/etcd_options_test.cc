#include "storage/etcd/etcd_options.h"

#include <gmock/gmock.h>

#include <string>

namespace fairlock::storage::etcd {
namespace {

using testing::ElementsAre;

std::string ErrorOf(std::string_view text) {
  const auto endpoints = ParseEndpoints(text);
  return endpoints.ok() ? "none" : endpoints.status().message();
}

TEST(EtcdEndpoints, AListMayHaveSchemesAndSpaces) {
  const auto endpoints = ParseEndpoints("a:2379, https://b.example:2380/ ,http://[::1]:1");
  ASSERT_TRUE(endpoints.ok()) << endpoints.status().message();
  EXPECT_THAT(endpoints.value(),
              ElementsAre(EtcdEndpoint{.address = "a:2379"},
                          EtcdEndpoint{.address = "b.example:2380", .is_tls = true},
                          EtcdEndpoint{.address = "[::1]:1"}));
}

TEST(EtcdEndpoints, AnErrorShowsTheWordThatIsWrong) {
  for (const std::string word :
       {"", "host", "host:", ":2379", "host:0", "host:65536", "host:x", "ftp://host:1",
        "user@host:1", "a b:1", "::1:2379", "[]:1", "host:1/path", "https://https://host:1"}) {
    EXPECT_EQ(ErrorOf("good:1," + word),
              "must be a list of [http://|https://]host:port, got \"" + word + "\"");
  }
  EXPECT_EQ(ErrorOf(""), "must be a list of [http://|https://]host:port, got \"\"");
}

TEST(EtcdEndpoints, AnEndpointIsNamedOnce) {
  EXPECT_EQ(ErrorOf("a:1,b:1,a:1"), "must name each endpoint once, got \"a:1\" twice");
}

TEST(EtcdOptionsCheck, OptionsMustFitTogether) {
  const EtcdOptions plain{.endpoints = {{.address = "a:1"}}};
  EXPECT_TRUE(CheckOptions(plain).ok());
  EtcdOptions options;
  EXPECT_EQ(CheckOptions(options).message(), "etcd needs at least one endpoint");
  options = plain;
  options.cert_file = "client.crt";
  EXPECT_EQ(CheckOptions(options).message(),
            "etcd needs the client's certificate and its key, or neither");
  options.key_file = "client.key";
  EXPECT_EQ(CheckOptions(options).message(),
            "certificates for etcd need an endpoint with https://");
  options.endpoints.front().is_tls = true;
  EXPECT_TRUE(CheckOptions(options).ok());
  options = plain;
  options.password = "secret";
  EXPECT_EQ(CheckOptions(options).message(), "a password for etcd needs a user");
  options = plain;
  options.attempt_timeout = std::chrono::milliseconds(0);
  EXPECT_EQ(CheckOptions(options).message(), "the timeout for an attempt must be at least 1 ms");
}

}  // namespace
}  // namespace fairlock::storage::etcd
