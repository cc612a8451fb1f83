// A descriptor that Asio waits for. All reads and writes are direct system calls.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

namespace fairlock::net {

// Closes its descriptor when destroyed. Uses the io_context's own executor type, which is cheaper
// than boost::asio::any_io_executor.
using Descriptor =
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

}  // namespace fairlock::net
