import EventLoop
import Octets
import Testing

@Suite struct SocketAddresses {
    @Test(arguments: [
        ("127.0.0.1:80", "127.0.0.1"), ("0.0.0.0:0", "0.0.0.0"), ("255.255.255.255:65535", "255.255.255.255"),
        ("[::1]:80", "::1"), ("[::]:8080", "::"), ("[2001:db8::ff00:42:8329]:443", "2001:db8::ff00:42:8329"),
        ("unix:/run/app.sock", "unix:"), ("unix:relative", "unix:"),
    ])
    func `what parse reads, description prints`(_ text: String, ip: String) throws {
        let address = try #require(SocketAddress.parse(text))
        #expect(address.description == text)
        var buffer = OutputBuffer()
        address.appendIP(to: &buffer)
        #expect(buffer.span.lossyString() == ip)
        #expect(address == SocketAddress.parse(text))
    }

    @Test(arguments: [
        "", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1:8 ",
        "127.0.0.1:000080", "localhost:80", "::1:80", "[127.0.0.1]:80", "[::1]", "[::1]80", "[::1:80", "::1]:80",
        "1.2.3:80", "1.2.3.4.5:80", "01.2.3.4:80", "unix:", "unix:\0", "[::g]:1", "127.0.0.1\0:80",
    ])
    func `what is not an address is nil`(_ text: String) {
        #expect(SocketAddress.parse(text) == nil)
    }

    @Test(arguments: [
        ("[::ffff:10.1.2.3]:8080", "10.1.2.3:8080"), ("[::ffff:127.0.0.1]:1", "127.0.0.1:1"),
        ("10.1.2.3:1", "10.1.2.3:1"),
        ("[::1]:1", "[::1]:1"), ("[::10.1.2.3]:1", "[::10.1.2.3]:1"), ("[1::ffff:10.1.2.3]:1", "[1::ffff:10.1.2.3]:1"),
        ("unix:/a", "unix:/a"),
    ])
    func `a mapped IPv4 address is an IPv4 address`(_ text: String, plain: String) throws {
        #expect(try #require(SocketAddress.parse(text)).unmapped == SocketAddress.parse(plain))
    }

    @Test func `parts`() throws {
        let four = try #require(SocketAddress.parse("10.1.2.3:8080"))
        #expect(four.ipv4 == 0x0A01_0203)
        #expect(four.port == 8080)
        #expect(four.isIPv4 && !four.isIPv6 && !four.isUnix)
        #expect(four == SocketAddress(ipv4: 0x0A01_0203, port: 8080))
        #expect(four != four.withPort(81))
        #expect(four.withPort(81).description == "10.1.2.3:81")
        let six = try #require(SocketAddress.parse("[1:2:3:4:5:6:7:8]:9"))
        #expect(six.ipv6?.high == 0x0001_0002_0003_0004)
        #expect(six.ipv6?.low == 0x0005_0006_0007_0008)
        #expect(six == SocketAddress(ipv6High: 0x0001_0002_0003_0004, low: 0x0005_0006_0007_0008, port: 9))
        #expect(six.ipv4 == nil)
        let unix = try #require(SocketAddress.parse("unix:/tmp/a b"))
        #expect(unix.isUnix)
        #expect(unix.path == "/tmp/a b")
        #expect(unix.ipv4 == nil && unix.ipv6 == nil && unix.port == 0)
    }
}
