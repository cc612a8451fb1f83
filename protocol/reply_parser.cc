#include "protocol/reply_parser.h"

#include <algorithm>
#include <cassert>

#include "protocol/reply_element.h"

namespace fairlock::protocol {
namespace {

// Builds a reply from bytes in which the scanner has found a complete one, so nothing can be
// invalid or missing, and the nesting does not exceed the scanner's limit.
class ReplyBuilder {
 public:
  explicit ReplyBuilder(std::string_view input) : input_(input) {}

  Reply Build() {
    const ReplyElement element = NextWithoutAttributes();
    Reply reply;
    reply.type = element.type;
    reply.integer = element.integer;
    reply.number = element.number;
    reply.text = element.text;
    std::copy(element.format.begin(), element.format.end(), reply.format.begin());
    reply.elements.reserve(element.children);
    for (std::uint64_t child = 0; child < element.children; ++child) {
      reply.elements.push_back(Build());
    }
    return reply;
  }

 private:
  ReplyElement NextWithoutAttributes() {
    ReplyElement element = Next();
    while (element.is_attribute) {
      for (std::uint64_t child = 0; child < element.children; ++child) Build();
      element = Next();
    }
    return element;
  }

  ReplyElement Next() {
    const ReplyElement element = ReadReplyElement(input_, at_, input_.size());
    assert(element.status == ReplyElement::Status::kWhole);
    at_ = element.end;
    return element;
  }

  std::string_view input_;
  std::size_t at_ = 0;
};

}  // namespace

ReplyStatus ReplyParser::Parse(std::string_view input, Reply& out, std::size_t& consumed) {
  const ReplyStatus status = scanner_.Scan(input, consumed);
  if (status == ReplyStatus::kReply) out = ReplyBuilder(input.substr(0, consumed)).Build();
  return status;
}

}  // namespace fairlock::protocol
