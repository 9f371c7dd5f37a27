// The files of a throw-away copy: whatever the address of a table, its files are in the memory of this JVM.
// `memory_files` compiles this class with the compiler that Spark brings, which supports no lambda and few generics.

package org.apache.hadoop.fs;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

public class MemoryFileSystem extends FileSystem {
  // The content by address: `s3://bucket/a/file`. The address of a folder ends with a slash; its content is empty.
  public static final ConcurrentSkipListMap FILES = new ConcurrentSkipListMap();
  private static final long STARTED = System.currentTimeMillis();
  private URI uri;
  private Path workingDirectory;

  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    String authority = name.getAuthority();
    uri = URI.create(name.getScheme() + "://" + (authority == null ? "" : authority) + "/");
    workingDirectory = new Path(uri);
    setConf(conf);
  }

  public URI getUri() { return uri; }

  public String getScheme() { return uri.getScheme(); }

  public Path getWorkingDirectory() { return workingDirectory; }

  public void setWorkingDirectory(Path path) { workingDirectory = path; }

  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    byte[] content = (byte[]) FILES.get(address(path));
    if (content == null) throw new FileNotFoundException("File " + path + " does not exist");
    return new FSDataInputStream(new Reader(content));
  }

  public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite, int bufferSize,
      short replication, long blockSize, Progressable progress) throws IOException {
    String address = address(path);
    synchronized (FILES) {
      if (isFolder(address) || (!overwrite && isFile(address)))
        throw new FileAlreadyExistsException(path + " already exists");
      mkdirs(path.getParent(), permission);
      FILES.put(address, new byte[0]);
    }
    return new FSDataOutputStream(new Writer(address), null);
  }

  public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) {
    throw new UnsupportedOperationException("append");
  }

  public boolean rename(Path from, Path to) throws IOException {
    synchronized (FILES) {
      String before = address(from);
      String after = address(to);
      if (isFolder(after)) after = folder(after) + from.getName();
      if (isFile(after) || after.startsWith(folder(before)) || (!isFile(before) && !isFolder(before))) return false;
      mkdirs(to.getParent(), null);
      if (isFile(before)) {
        FILES.put(after, FILES.remove(before));
        return true;
      }
      if (isFolder(after)) return false;
      Iterator entries = inside(before).entrySet().iterator();
      while (entries.hasNext()) {
        Map.Entry entry = (Map.Entry) entries.next();
        FILES.put(after + ((String) entry.getKey()).substring(before.length()), entry.getValue());
        FILES.remove(entry.getKey());
      }
      return true;
    }
  }

  public boolean delete(Path path, boolean recursive) throws IOException {
    synchronized (FILES) {
      String address = address(path);
      if (isFile(address)) return FILES.remove(address) != null;
      if (!isFolder(address)) return false;
      Map content = inside(address);
      if (!recursive && content.size() > 1) throw new IOException("Directory " + path + " is not empty");
      FILES.keySet().removeAll(content.keySet());
      return true;
    }
  }

  public FileStatus[] listStatus(Path path) throws IOException {
    synchronized (FILES) {
      FileStatus own = getFileStatus(path);
      if (own.isFile()) return new FileStatus[] {own};
      String folder = folder(address(path));
      TreeMap listed = new TreeMap();
      Iterator entries = inside(folder).entrySet().iterator();
      while (entries.hasNext()) {
        Map.Entry entry = (Map.Entry) entries.next();
        String rest = ((String) entry.getKey()).substring(folder.length());
        int end = rest.indexOf('/');
        String name = end < 0 ? rest : rest.substring(0, end);
        if (!name.isEmpty() && !listed.containsKey(name))
          listed.put(name, status(new Path(own.getPath(), new Path(null, null, name)), end < 0 ? (byte[]) entry.getValue() : null));
      }
      return (FileStatus[]) listed.values().toArray(new FileStatus[listed.size()]);
    }
  }

  public boolean mkdirs(Path path, FsPermission permission) throws IOException {
    synchronized (FILES) {
      for (Path folder = path; folder != null; folder = folder.getParent())
        if (isFile(address(folder))) throw new FileAlreadyExistsException(folder + " is not a directory");
      for (Path folder = path; folder != null; folder = folder.getParent())
        FILES.put(folder(address(folder)), new byte[0]);
      return true;
    }
  }

  public FileStatus getFileStatus(Path path) throws IOException {
    String address = address(path);
    byte[] content = isFile(address) ? (byte[]) FILES.get(address) : null;
    if (content == null && !isFolder(address)) throw new FileNotFoundException("File " + path + " does not exist");
    return status(makeQualified(path), content);
  }

  private FileStatus status(Path path, byte[] content) {
    return new FileStatus(content == null ? 0 : content.length, content == null, 1, 1 << 25, STARTED, path);
  }

  private String address(Path path) {
    checkPath(path);
    URI full = makeQualified(path).toUri();  // Hadoop uses one instance for `s3://A` and `s3://a`.
    String authority = full.getAuthority() == null ? "" : full.getAuthority();
    return full.getScheme() + "://" + authority + (full.getPath().isEmpty() ? "/" : full.getPath());
  }

  private static String folder(String address) { return address.endsWith("/") ? address : address + "/"; }

  private static boolean isFile(String address) { return !address.endsWith("/") && FILES.containsKey(address); }

  private static boolean isFolder(String address) {
    return address.endsWith("/") || !inside(address).isEmpty();
  }

  // The files and folders in a folder, and the folder.
  private static Map inside(String address) {
    String folder = folder(address);
    String end = folder.substring(0, folder.length() - 1) + '0';  // The character after the slash.
    return new TreeMap(FILES.subMap(folder, end));
  }

  private static class Reader extends FSInputStream {
    private final byte[] content;
    private int at = 0;

    Reader(byte[] content) { this.content = content; }

    public void seek(long position) throws IOException {
      if (position < 0 || position > content.length) throw new java.io.EOFException("position " + position);
      at = (int) position;
    }

    public long getPos() { return at; }

    public boolean seekToNewSource(long position) { return false; }

    public int available() { return content.length - at; }

    public int read() { return at < content.length ? content[at++] & 0xff : -1; }

    public int read(byte[] buffer, int offset, int length) {
      if (length == 0) return 0;
      if (at >= content.length) return -1;
      int size = Math.min(length, content.length - at);
      System.arraycopy(content, at, buffer, offset, size);
      at += size;
      return size;
    }
  }

  private static class Writer extends ByteArrayOutputStream {
    private String address;

    Writer(String address) { this.address = address; }

    // The second time it does nothing: the file may have been renamed.
    public void close() {
      if (address != null) FILES.put(address, toByteArray());
      address = null;
    }
  }
}
