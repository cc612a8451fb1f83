// What commands reply, as answers.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "protocol/reply.h"
#include "protocol/reply_writer.h"
#include "server/http/exchange.h"
#include "server/http/inputs.h"

namespace fairlock::http {

class CommandCaller;

Answer JsonAnswer(const boost::json::object& object);

// An error reply as a refusal: its first word is the code, and decides the status.
Answer RefusalOf(const protocol::Reply& error);

// None: the user of `commands` may make that request. For what is looked up without the command.
std::optional<Answer> RefuseDenied(CommandCaller& commands,
                                   std::initializer_list<std::string_view> request);

// What a writer of commands writes, as a reply to them.
protocol::Reply ReplyOf(const std::function<void(protocol::ReplyWriter&)>& write);

// An object with one field, whatever the reply; a refusal if it is an error.
Answer AnswerWith(std::string_view field, const protocol::Reply& reply);

// How many rows an answer has if `count` is not given.
inline constexpr std::int64_t kRowsDefault = 100;
// None: `count` is not given, or from 1 to `count_max`.
std::optional<Answer> RefuseCount(const Inputs& inputs, std::int64_t count_max);

}  // namespace fairlock::http
