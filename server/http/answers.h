// Converts command replies, and the text in some of them, to HTTP answers.
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

// Converts an error reply: its first word becomes the code, and selects the status.
Answer RefusalOf(const protocol::Reply& error);

// Returns nullopt if the user of `commands` may make the request. Used where data is read without
// executing the command that the request names.
std::optional<Answer> RefuseDenied(CommandCaller& commands,
                                   std::initializer_list<std::string_view> request);

// Runs code that writes a command's reply, and returns the parsed reply.
protocol::Reply ReplyOf(const std::function<void(protocol::ReplyWriter&)>& write);

// Returns an object with one field that contains the reply; a refusal if the reply is an error.
Answer AnswerWith(std::string_view field, const protocol::Reply& reply);

// The maximum number of rows in an answer if `count` is not given.
inline constexpr std::int64_t kRowsDefault = 100;
// Returns nullopt if the parameter `count` is not given, or is from 1 to `count_max`.
std::optional<Answer> RefuseCount(const Inputs& inputs, std::int64_t count_max);

// Returns the text before `end`, or all of it; removes it and `end` from `rest`.
std::string_view TakeUpTo(std::string_view& rest, std::string_view end);

// Adds a whole number as a number, and any other text as a string.
void AddNumberOrText(boost::json::object& object, std::string_view name, std::string_view value);

}  // namespace fairlock::http
