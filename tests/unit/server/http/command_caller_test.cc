#include "server/http/command_caller.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::http {
namespace {

class CommandCallerTest : public testing::Test {
 protected:
  ~CommandCallerTest() override { caller_.Detach(server_.now()); }

  std::string Call(std::initializer_list<std::string_view> arguments) {
    return command::ShowReply(caller_.Call(arguments, server_.now()));
  }

  command::TestServer server_;
  CommandCaller caller_{server_.parts(), {"127.0.0.1:40000", "127.0.0.1:3248", 9}, 1, [] {}};
};

TEST_F(CommandCallerTest, GivesTheReplyOfTheCommand) {
  EXPECT_EQ(Call({"LOCKED", "k"}), "0");
  EXPECT_EQ(Call({"NOSUCH"}).substr(0, 5), "-ERR ");
}

TEST_F(CommandCallerTest, WhatIsTooLongForARequestIsAnErrorAndTheNextOneIsServed) {
  protocol::RequestLimits limits;
  limits.argument_bytes_max = 16 * 1024;
  server_.parts().pipeline.limits = limits;
  const std::string longer(16 * 1024 + 1, 'x');
  EXPECT_EQ(Call({"BREAK", longer}).substr(0, 5), "-ERR ");
  EXPECT_EQ(Call({"BREAK", "k"}), "0");
  limits.request_bytes_max = 100;
  server_.parts().pipeline.limits = limits;
  EXPECT_EQ(Call({"BREAK", std::string(200, 'x')}).substr(0, 5), "-ERR ");
  EXPECT_EQ(Call({"BREAK", "k"}), "0");
}

}  // namespace
}  // namespace fairlock::http
