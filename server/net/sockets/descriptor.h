// A descriptor that Asio waits for. All reads and writes are direct system calls.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

namespace fairlock::net {

// Closes its descriptor. Bound to the io_context's own executor, which is cheaper than any
// executor.
using Descriptor =
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

}  // namespace fairlock::net
