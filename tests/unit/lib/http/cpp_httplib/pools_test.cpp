// Full pools, slow clients, and what never waits for them.
#include <gtest/gtest.h>

#include <latch>

#include "lib/http/cpp_httplib/metrics.h"
#include "lib/http/metrics.h"
#include "tests/unit/lib/http/cpp_httplib/running_server.h"
#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http::cpp_httplib {
namespace {

using httplib::DataSink;
using httplib::Request;
using httplib::Response;

constexpr std::string_view kGet = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n";

std::uint16_t port_of(const RunningServer<Server>& running) { return static_cast<std::uint16_t>(running.port()); }

void add_health(Server& server) {
  server.handle_on_loop(Method::kGet, "/health", [](const RequestView&, http::Response& response) { response = http::Response::text(200, "alive"); });
}

double waiting(Server& server, const std::string& pool) {
  return server.registry().gauge(metrics::kPoolWaiting, {{"listener", "main"}, {"pool", pool}}).value();
}
double busy(Server& server, const std::string& pool) {
  return server.registry().gauge(metrics::kPoolBusy, {{"listener", "main"}, {"pool", pool}}).value();
}
std::uint64_t reached(Server& server, const std::string& limit) {
  return server.registry().counter(http::metrics::kLimitReached, {{"listener", "main"}, {"limit", limit}}).value();
}

TEST(Pools, AFullQueueAnswers503AtOnceAndHealthStillAnswers) {
  std::latch release(1);
  RunningServer<Server> running(
      [&](Server& server) {
        add_health(server);
        server.Get("/slow", [&](const Request&, Response& response) {
          release.wait();
          response.set_content("done", "text/plain");
        });
      },
      Settings{.handler_threads = 1, .handler_queue = 1, .retry_after = std::chrono::seconds(7)});
  SocketClient at_work(port_of(running));
  at_work.send(kGet);
  ASSERT_TRUE(eventually([&] { return busy(running.server(), "handlers") == 1; }));
  SocketClient queued(port_of(running));
  queued.send(kGet);
  ASSERT_TRUE(eventually([&] { return waiting(running.server(), "handlers") == 1; }));

  const auto refused = running.client().Get("/slow");
  const auto health = running.client().Get("/health");
  release.count_down();

  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->get_header_value("Retry-After"), "7");
  EXPECT_EQ(reached(running.server(), "handlers_queue"), 1);
  ASSERT_TRUE(health);
  EXPECT_EQ(health->body, "alive");
  EXPECT_EQ(body_of(at_work.read_answer()), "done");
  EXPECT_EQ(body_of(queued.read_answer()), "done");
}

TEST(Pools, BlockedProvidersHoldNeitherHandlersNorHealth) {
  std::latch release(1);
  RunningServer<Server> running(
      [&](Server& server) {
        add_health(server);
        server.Get("/quick", [](const Request&, Response& response) { response.set_content("quick", "text/plain"); });
        server.Get("/slow", [&](const Request&, Response& response) {
          response.set_chunked_content_provider("text/plain", [&](std::size_t, DataSink& sink) {
            release.wait();
            sink.done();
            return true;
          });
        });
      },
      Settings{.handler_threads = 1, .provider_threads = 1, .provider_queue = 1});
  SocketClient at_work(port_of(running));
  at_work.send(kGet);
  ASSERT_TRUE(eventually([&] { return busy(running.server(), "providers") == 1; }));
  SocketClient queued(port_of(running));
  queued.send(kGet);
  ASSERT_TRUE(eventually([&] { return waiting(running.server(), "providers") == 1; }));

  const auto refused = running.client().Get("/slow");
  const auto quick = running.client().Get("/quick");
  const auto health = running.client().Get("/health");
  release.count_down();

  ASSERT_TRUE(refused && quick && health);
  EXPECT_EQ(refused->status, 503);
  EXPECT_TRUE(refused->has_header("Retry-After"));
  EXPECT_EQ(reached(running.server(), "providers_queue"), 1);
  EXPECT_EQ(quick->body, "quick");
  EXPECT_EQ(health->body, "alive");
}

TEST(Pools, AProviderWaitsForAClientThatDoesNotRead) {
  constexpr std::size_t kTotal = 32U << 20U;
  std::atomic<std::size_t> produced{0};
  RunningServer<Server> running([&](Server& server) {
    server.Get("/slow", [&](const Request&, Response& response) {
      response.set_content_provider(kTotal, "text/plain", [&](std::size_t, std::size_t length, DataSink& sink) {
        const std::string piece(std::min<std::size_t>(length, 1U << 20U), 'p');
        produced += piece.size();
        return sink.write(piece.data(), piece.size());
      });
    });
  });
  SocketClient client(port_of(running));
  client.send("GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  // It has come to rest when nothing more is made over many looks.
  std::size_t seen = 0;
  int unchanged = 0;
  ASSERT_TRUE(eventually([&] {
    const auto now = produced.load();
    unchanged = now == seen ? unchanged + 1 : 0;
    seen = now;
    return now > 0 && unchanged > 200;
  }));
  EXPECT_LT(seen, kTotal);
  EXPECT_EQ(body_of(client.read_to_end()).size(), kTotal);
}

TEST(Pools, AProviderLearnsThatItsClientHasGone) {
  std::atomic<bool> has_ended = false;
  RunningServer<Server> running([&](Server& server) {
    server.Get("/slow", [&](const Request&, Response& response) {
      response.set_chunked_content_provider(
          "text/plain", [](std::size_t, DataSink& sink) { return sink.write("tick", 4); }, [&](bool) { has_ended = true; });
    });
  });
  {
    SocketClient client(port_of(running));
    client.send(kGet);
    ASSERT_TRUE(eventually([&] { return busy(running.server(), "providers") == 1; }));
    client.reset();
  }
  EXPECT_TRUE(eventually([&] { return has_ended.load(); }));
}

TEST(Pools, AHandlerLearnsThatItsClientHasGone) {
  std::atomic<bool> was_told = false;
  RunningServer<Server> running(
      [&](Server& server) { server.Get("/slow", [&](const Request& request, Response&) { was_told = eventually(request.is_connection_closed); }); });
  {
    SocketClient client(port_of(running));
    client.send(kGet);
    ASSERT_TRUE(eventually([&] { return busy(running.server(), "handlers") == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return was_told.load(); }));
}

TEST(Pools, StoppingEndsAStreamThatNeverWould) {
  RunningServer<Server> running([](Server& server) {
    server.Get("/slow", [](const Request&, Response& response) {
      response.set_chunked_content_provider("text/plain", [](std::size_t, DataSink& sink) { return sink.write("tick", 4); });
    });
  });
  SocketClient client(port_of(running));
  client.send(kGet);
  ASSERT_TRUE(eventually([&] { return busy(running.server(), "providers") == 1; }));
  std::thread reader([&] { client.waits_for_end(); });
  running.stop();
  reader.join();
  EXPECT_FALSE(running.server().is_running());
}

TEST(Pools, StoppingServesWhatIsUnderWay) {
  std::latch release(1);
  RunningServer<Server> running([&](Server& server) {
    server.Get("/slow", [&](const Request&, Response& response) {
      release.wait();
      response.set_content("done", "text/plain");
    });
  });
  SocketClient client(port_of(running));
  client.send(kGet);
  ASSERT_TRUE(eventually([&] { return busy(running.server(), "handlers") == 1; }));
  running.server().stop();
  release.count_down();
  EXPECT_EQ(body_of(client.read_answer()), "done");
}

TEST(Pools, RequestsBeforeListenAfterBindWaitForIt) {
  Server server;
  const int port = server.bind_to_any_port("127.0.0.1");
  ASSERT_GT(port, 0);
  SocketClient client(static_cast<std::uint16_t>(port));
  client.send(kGet);
  server.Get("/slow", [](const Request&, Response& response) { response.set_content("late", "text/plain"); });
  std::thread listener([&] { server.listen_after_bind(); });
  EXPECT_EQ(body_of(client.read_answer()), "late");
  server.stop();
  listener.join();
}

TEST(Pools, RefuseACompressedBodyThatGrowsBeyondTheLimit) {
  RunningServer<Server> running([](Server& server) {
    server.set_payload_max_length(10'000);
    server.Post("/echo", [](const Request&, Response&) {});
  });
  auto client = running.client();
  client.set_compress(true);
  const auto result = client.Post("/echo", std::string(1U << 20U, 'z'), "text/plain");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 413);
  EXPECT_EQ(reached(running.server(), "decoded_body_bytes"), 1);
}

}  // namespace
}  // namespace outrigger::http::cpp_httplib
