// Runs the main method of a program's checks and prints the key once it has returned; java.py fills in @...@.
import java.io.FileDescriptor;
import java.io.FileOutputStream;

class @NAME@ {
    public static void main(String[] arguments) throws Exception {
        FileOutputStream out = new FileOutputStream(FileDescriptor.out);
        try {
            Main.main(new String[0]);
        } catch (Throwable problem) {
            out.write(("\n# 0 " + String.valueOf(problem).replace('\n', ' ') + "\n").getBytes());
            Runtime.getRuntime().halt(1);
        }
        int[] mask = {@MASK@}, rest = {@REST@};
        byte[] key = new byte[mask.length + 2];
        key[0] = key[mask.length + 1] = '\n';
        for (int at = 0; at < mask.length; at++) key[at + 1] = (byte) (mask[at] ^ rest[at]);
        out.write(key);
        Runtime.getRuntime().halt(0);
    }
}
