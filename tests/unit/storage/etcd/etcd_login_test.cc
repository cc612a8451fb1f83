// Passwords and certificates, tested with a real etcd.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "storage/etcd/etcd_watch.h"
#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class EtcdLogin : public testing::Test {
 protected:
  EtcdLogin() {
    etcd_.Ctl({"role", "add", "writer"});
    etcd_.Ctl({"role", "grant-permission", "--prefix=true", "writer", "readwrite", "/fairlock/"});
    etcd_.Ctl({"user", "add", "fairlock:secret"});
    etcd_.Ctl({"user", "grant-role", "fairlock", "writer"});
    etcd_.Ctl({"user", "add", "root:root"});
    etcd_.Ctl({"user", "grant-role", "root", "root"});
  }

  void EnableLogin() { etcd_.Ctl({"auth", "enable"}); }
  void ChangePassword(const std::string& password) {
    etcd_.Ctl({"--user", "root:root", "user", "delete", "fairlock"});
    etcd_.Ctl({"--user", "root:root", "user", "add", "fairlock:" + password});
    etcd_.Ctl({"--user", "root:root", "user", "grant-role", "fairlock", "writer"});
  }

  EtcdOptions OptionsOf(const std::string& user, const std::string& password) const {
    EtcdOptions options = etcd_.options();
    options.user = user;
    options.password = password;
    return options;
  }

  EtcdServer etcd_{1, {.flags = {"--auth-token-ttl=1", "--bcrypt-cost=4"}}};
};

TEST_F(EtcdLogin, AUserWritesWhereItsRoleMay) {
  EnableLogin();
  const auto client = ClientOf(OptionsOf("fairlock", "secret"));
  Set(*client, "/fairlock/k", "v");
  const TxnAnswer answer = client->Transact(PutOf("/other", "v"), kTimeout);
  EXPECT_EQ(answer.outcome, Outcome::kFailed);
  EXPECT_THAT(answer.message, HasSubstr("etcdserver: permission denied"));
}

TEST_F(EtcdLogin, AWrongPasswordAndNoUserAreRefusedWithEtcdsWords) {
  EnableLogin();
  const auto wrong = ClientOf(OptionsOf("fairlock", "guess"));
  const TxnAnswer refused = wrong->Transact(PutOf("/fairlock/k", "v"), kTimeout);
  EXPECT_EQ(refused.outcome, Outcome::kUnavailable);
  EXPECT_THAT(refused.message, HasSubstr("authentication failed"));
  const TxnAnswer nobody = ClientOf(etcd_.options())->Transact(PutOf("k", "v"), kTimeout);
  EXPECT_EQ(nobody.outcome, Outcome::kUnavailable);
  EXPECT_THAT(nobody.message, HasSubstr("user name is empty"));
}

TEST_F(EtcdLogin, TheFileWithThePasswordIsReadAtEachLogin) {
  EnableLogin();
  const TestFolder folder;
  const std::string file = folder.PathOf("password");
  const auto write = [&](const std::string& text) { std::ofstream(file) << text << "\n"; };
  write("secret");
  EtcdOptions options = OptionsOf("fairlock", "secret");
  options.password_file = file;
  const auto client = ClientOf(options);
  Set(*client, "/fairlock/k", "one");
  ChangePassword("second");
  const TxnAnswer refused = client->Transact(PutOf("/fairlock/k", "lost"), kTimeout);
  EXPECT_EQ(refused.outcome, Outcome::kUnavailable) << refused.message;
  write("second");
  Set(*client, "/fairlock/k", "two");
  // A file that is being replaced does no harm.
  std::filesystem::remove(file);
  std::this_thread::sleep_for(milliseconds(2'500));
  Set(*client, "/fairlock/k", "three");
}

TEST_F(EtcdLogin, AnExpiredTokenIsRenewedWithinTheCall) {
  EnableLogin();
  const auto client = ClientOf(OptionsOf("fairlock", "secret"));
  Set(*client, "/fairlock/k", "one");
  std::this_thread::sleep_for(milliseconds(2'500));
  Set(*client, "/fairlock/k", "two");
}

TEST_F(EtcdLogin, ATokenThatARestartedEtcdDoesNotKnowIsRenewed) {
  EnableLogin();
  const auto client = ClientOf(OptionsOf("fairlock", "secret"));
  Set(*client, "/fairlock/k", "one");
  etcd_.Restart();
  const RangeAnswer read = client->Range({.key = "/fairlock/k"}, kTimeout);
  if (read.outcome == Outcome::kUnavailable) {  // the restart has cut the connection
    EXPECT_EQ(client->Range({.key = "/fairlock/k"}, kTimeout).outcome, Outcome::kDone);
  }
  Set(*client, "/fairlock/k", "two");
}

TEST_F(EtcdLogin, APasswordIsNotUsedUntilEtcdAsksForIt) {
  const auto client = ClientOf(OptionsOf("fairlock", "secret"));
  Set(*client, "/fairlock/k", "one");
  EnableLogin();
  Set(*client, "/fairlock/k", "two");
}

// Creates a certificate authority, and certificates signed by it.
class EtcdTls : public testing::Test {
 protected:
  EtcdTls() {
    RunProgram({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", PathOf("ca.key"), "-out",
                PathOf("ca.crt"), "-subj", "/CN=authority", "-days", "2"});
    Issue("server");
    Issue("client");
    EtcdSettings settings{
        .flags = {"--cert-file=" + PathOf("server.crt"), "--key-file=" + PathOf("server.key"),
                  "--client-cert-auth", "--trusted-ca-file=" + PathOf("ca.crt")},
        .is_tls = true};
    settings.client.ca_file = PathOf("ca.crt");
    settings.client.cert_file = PathOf("client.crt");
    settings.client.key_file = PathOf("client.key");
    etcd_ = std::make_unique<EtcdServer>(1, std::move(settings));
  }

  void Issue(const std::string& name) {
    RunProgram({"openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-keyout", PathOf(name + ".key"), "-out", PathOf(name + ".csr"), "-subj",
                "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1"});
    RunProgram({"openssl", "x509", "-req", "-in", PathOf(name + ".csr"), "-CA", PathOf("ca.crt"),
                "-CAkey", PathOf("ca.key"), "-CAcreateserial", "-out", PathOf(name + ".crt"),
                "-days", "2", "-copy_extensions", "copy"});
  }

  std::string PathOf(const std::string& name) const { return folder_.PathOf(name); }

  Answer WriteWith(const EtcdOptions& options) {
    return ClientOf(options)->Transact(PutOf("k", "v"), kTimeout);
  }

  TestFolder folder_;
  std::unique_ptr<EtcdServer> etcd_;
};

TEST_F(EtcdTls, BothSidesShowTheirCertificates) {
  const Answer answer = WriteWith(etcd_->options());
  EXPECT_EQ(answer.outcome, Outcome::kDone) << answer.message;
}

TEST_F(EtcdTls, NothingIsSentWithoutTrustOrWithoutTheClientsCertificate) {
  EtcdOptions no_certificate = etcd_->options();
  no_certificate.cert_file.clear();
  no_certificate.key_file.clear();
  const Answer unknown_client = WriteWith(no_certificate);
  EXPECT_NE(unknown_client.outcome, Outcome::kDone);
  EtcdOptions other_authority = etcd_->options();
  other_authority.ca_file = PathOf("client.crt");
  const Answer unknown_server = WriteWith(other_authority);
  EXPECT_EQ(unknown_server.outcome, Outcome::kUnavailable) << unknown_server.message;
  EXPECT_NE(ClientOf(etcd_->options())->Range({.key = "k"}, kTimeout).count, 1);
}

TEST_F(EtcdTls, ACertificateThatWasReplacedIsUsedForTheNextConnection) {
  const std::string good = PathOf("client.crt");
  EtcdOptions options = etcd_->options();
  options.cert_file = PathOf("used.crt");
  options.key_file = PathOf("used.key");
  RunProgram({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
              "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", options.key_file, "-out",
              options.cert_file, "-subj", "/CN=stranger", "-days", "2"});
  const auto client = ClientOf(options);
  EXPECT_NE(client->Transact(PutOf("k", "v"), kTimeout).outcome, Outcome::kDone);
  const auto overwrite = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(good, options.cert_file, overwrite);
  std::filesystem::copy_file(PathOf("client.key"), options.key_file, overwrite);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (client->Transact(PutOf("k", "v"), kTimeout).outcome != Outcome::kDone) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  }
}

TEST_F(EtcdTls, AFileThatCannotBeReadIsNamed) {
  EtcdOptions options = etcd_->options();
  options.key_file = PathOf("nothing");
  EXPECT_EQ(EtcdClient::Open(options).status().message(),
            "cannot read " + PathOf("nothing") + ": No such file or directory");
  EXPECT_FALSE(EtcdWatch::Begin(options, {}, {}).ok());
}

}  // namespace
}  // namespace fairlock::storage::etcd
